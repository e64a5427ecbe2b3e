#include "adapters/mps/driver_libraries.hpp"

#include <set>
#include <system_error>
#include <vector>

#include "adapters/os/driver_folders.hpp"
#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Where Debian's packages have the files themselves.
constexpr const char* kDebianFolder = "usr/lib/x86_64-linux-gnu/nvidia/current";

bool is_of_driver(const std::string& name) {
    return (name.starts_with("libcuda") || name.starts_with("libnvidia-")) &&
           name.find(".so") != std::string::npos;
}

// In place of another one at once: a server may be starting.
void make_link(const fs::path& target, const fs::path& link, std::error_code& error) {
    std::error_code none;
    if (fs::read_symlink(link, none) == target) return;
    const fs::path made = link.string() + ".new";
    fs::remove(made, none);
    fs::create_symlink(target, made, error);
    if (!error) fs::rename(made, link, error);
}

}  // namespace

Result<> link_driver_libraries(const std::string& driver_root, const fs::path& into) {
    std::error_code error;
    fs::create_directories(into, error);
    std::vector<const char*> folders(kDriverLibraryFolders.begin(), kDriverLibraryFolders.end());
    folders.push_back(kDebianFolder);
    std::set<fs::path> made;
    for (const char* folder : folders) {
        for (const fs::path& path : paths_in(in_driver_root(driver_root, folder))) {
            // The first folder with a library counts, as for the loader.
            if (!is_of_driver(path.filename()) || !made.insert(path.filename()).second) continue;
            if (!error) make_link(path, into / path.filename(), error);
        }
    }
    for (const fs::path& path : paths_in(into)) {
        std::error_code ignored;
        if (!made.contains(path.filename())) fs::remove(path, ignored);
    }
    if (error) return fail(Code::unavailable, into.string() + ": " + error.message());
    return {};
}

}  // namespace tessera

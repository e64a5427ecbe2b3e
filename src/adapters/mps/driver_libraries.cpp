#include "adapters/mps/driver_libraries.hpp"

#include <system_error>

#include "adapters/os/driver_folders.hpp"
#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool is_of_driver(const std::string& name) {
    return (name.starts_with("libcuda") || name.starts_with("libnvidia-")) &&
           name.find(".so") != std::string::npos;
}

}  // namespace

Result<> link_driver_libraries(const std::string& driver_root, const fs::path& into) {
    std::error_code error;
    fs::remove_all(into, error);
    fs::create_directories(into, error);
    for (const char* folder : kDriverLibraryFolders) {
        for (const fs::path& path : paths_in(in_driver_root(driver_root, folder))) {
            const fs::path link = into / path.filename();
            // The first folder with a library counts, as for the loader.
            if (!is_of_driver(path.filename()) || fs::is_symlink(fs::symlink_status(link)))
                continue;
            if (!error) fs::create_symlink(path, link, error);
        }
    }
    if (error) return fail(Code::unavailable, into.string() + ": " + error.message());
    return {};
}

}  // namespace tessera

#include "adapters/run/run_members.hpp"

#include <algorithm>
#include <string>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

bool is_number(const std::string& name) {
    return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// A file of /proc that is too large to be read may contain it.
bool contains(const std::filesystem::path& file, const std::string& text) {
    const auto content = read_text_file_up_to(file, kMostBytes);
    if (!content) return content.error().code == Code::invalid_argument;
    return content->find(text) != std::string::npos;
}

}  // namespace

// The environment is known from the start of the program on, when the library is not loaded yet.
bool has_process(const std::filesystem::path& library) {
    const std::string path = library.string();
    return std::ranges::any_of(paths_in("/proc"), [&](const std::filesystem::path& process) {
        if (!is_number(process.filename().string())) return false;
        return contains(process / "environ", path) || contains(process / "maps", path);
    });
}

}  // namespace tessera

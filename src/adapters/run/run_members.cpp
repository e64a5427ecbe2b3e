#include "adapters/run/run_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "adapters/os/proc_table.hpp"
#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

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
    return std::ranges::any_of(process_ids(), [&](pid_t pid) {
        const std::filesystem::path process = fmt::format("/proc/{}", pid);
        return contains(process / "environ", path) || contains(process / "maps", path);
    });
}

}  // namespace tessera

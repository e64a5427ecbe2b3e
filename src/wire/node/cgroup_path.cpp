#include "wire/node/cgroup_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"

namespace tessera {
namespace {

constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kRootSlice = "-.slice";
constexpr std::string_view kSystemSlice = "system.slice";
// The longest that the kernel takes as a path.
constexpr std::size_t kMostBytes = 4096;
constexpr std::size_t kMostQuoted = 256;

tl::unexpected<Error> refuse(std::string_view text) {
    return fail(Code::invalid_argument,
                fmt::format("\"{}\" is no path of a cgroup",
                            printable(std::string(text.substr(0, kMostQuoted)))));
}

bool is_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." &&
           std::ranges::none_of(name, [](char c) { return c == '/' || c == '\0'; });
}

Result<std::string> folder_of_path(std::string_view path) {
    std::string folder;
    for (std::string_view rest = path; !rest.empty();) {
        const std::size_t end = std::min(rest.find('/'), rest.size());
        const std::string_view name = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (name.empty()) continue;
        if (!is_name(name)) return refuse(path);
        if (!folder.empty()) folder += '/';
        folder += name;
    }
    if (folder.empty()) return refuse(path);
    return folder;
}

// "a-b.slice" is in "a.slice".
Result<std::string> folder_of_slice(std::string_view slice, std::string_view text) {
    if (slice == kRootSlice) return std::string();
    if (!is_name(slice) || !slice.ends_with(kSlice)) return refuse(text);
    const std::string_view name = slice.substr(0, slice.size() - kSlice.size());
    std::string folder;
    for (std::size_t end = name.find('-');; end = name.find('-', end + 1)) {
        const std::string_view parent = name.substr(0, end);
        if (parent.empty() || parent.ends_with('-')) return refuse(text);
        folder += fmt::format("{}{}/", parent, kSlice);
        if (end == std::string_view::npos) return folder;
    }
}

}  // namespace

Result<std::string> cgroup_folder_of(std::string_view cgroups_path) {
    if (cgroups_path.size() > kMostBytes) return refuse(cgroups_path);
    const std::size_t first = cgroups_path.find(':');
    if (first == std::string_view::npos) return folder_of_path(cgroups_path);
    const std::size_t second = cgroups_path.find(':', first + 1);
    if (second == std::string_view::npos) return refuse(cgroups_path);
    const std::string_view slice = cgroups_path.substr(0, first);
    const std::string_view prefix = cgroups_path.substr(first + 1, second - first - 1);
    const std::string_view name = cgroups_path.substr(second + 1);
    if (!is_name(name) || (!prefix.empty() && !is_name(prefix)) ||
        name.find(':') != std::string_view::npos)
        return refuse(cgroups_path);
    TRY(std::string folder, folder_of_slice(slice.empty() ? kSystemSlice : slice, cgroups_path));
    if (name.ends_with(kSlice)) return folder + std::string(name);
    // As runc does, also with an empty prefix.
    return fmt::format("{}{}-{}{}", folder, prefix, name, kScope);
}

}  // namespace tessera

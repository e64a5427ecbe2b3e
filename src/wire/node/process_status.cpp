#include "wire/node/process_status.hpp"

#include <charconv>

namespace tessera {
namespace {

// The last number of a line, which is a pid. `name`: with the newline before it, because another
// line always comes first in the file.
std::optional<std::int64_t> last_pid(std::string_view status, std::string_view name) {
    const std::size_t at = status.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view line = status.substr(at + name.size());
    line = line.substr(0, line.find('\n'));
    const std::size_t last = line.find_last_of(" \t");
    if (last == std::string_view::npos) return std::nullopt;
    line.remove_prefix(last + 1);
    std::int64_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error != std::errc() || end != line.data() + line.size() || pid <= 0) return std::nullopt;
    return pid;
}

}  // namespace

std::optional<std::int64_t> innermost_pid(std::string_view status) {
    return last_pid(status, "\nNSpid:");
}

std::optional<std::int64_t> parent_pid(std::string_view status) {
    return last_pid(status, "\nPPid:");
}

std::optional<std::int64_t> start_ticks(std::string_view stat) {
    constexpr int kField = 22;
    const std::size_t name_ends = stat.rfind(')');
    if (name_ends == std::string_view::npos) return std::nullopt;
    stat.remove_prefix(name_ends + 1);  // skips a space; field 3 follows
    for (int field = 3; field <= kField; field++) {
        const std::size_t begins = stat.find(' ');
        if (begins == std::string_view::npos) return std::nullopt;
        stat.remove_prefix(begins + 1);
    }
    const std::string_view text = stat.substr(0, stat.find_first_of(" \n"));
    std::int64_t ticks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ticks);
    if (error != std::errc() || end != text.data() + text.size() || ticks < 0) return std::nullopt;
    return ticks;
}

}  // namespace tessera

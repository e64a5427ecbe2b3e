#include "wire/process_status.hpp"

#include <charconv>

namespace tessera {
namespace {

constexpr std::string_view kPids = "\nNSpid:";

}  // namespace

// The first line of the file is another one, so a newline stands before this one.
std::optional<std::int64_t> innermost_pid(std::string_view status) {
    const std::size_t at = status.find(kPids);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view line = status.substr(at + kPids.size());
    line = line.substr(0, line.find('\n'));
    const std::size_t last = line.find_last_of(" \t");
    if (last == std::string_view::npos) return std::nullopt;
    line.remove_prefix(last + 1);
    std::int64_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error != std::errc() || end != line.data() + line.size() || pid <= 0) return std::nullopt;
    return pid;
}

}  // namespace tessera

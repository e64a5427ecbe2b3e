#include "wire/mps/server_log.hpp"

#include <charconv>

namespace tessera::mps {
namespace {

constexpr std::string_view kBefore = "Client process ";
constexpr std::string_view kAfter = " encountered a fatal GPU error.";

// 0 if the line says something else.
std::int64_t faulted_client(std::string_view line) {
    // After the prefix, because the daemon also writes what it was sent.
    const std::size_t prefix = line.starts_with('[') ? line.find("] ") : std::string_view::npos;
    if (prefix == std::string_view::npos) return 0;
    line.remove_prefix(prefix + 2);
    if (!line.starts_with(kBefore)) return 0;
    line.remove_prefix(kBefore.size());
    std::int64_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return error == std::errc() && pid > 0 && line.starts_with(kAfter) ? pid : 0;
}

}  // namespace

std::vector<std::int64_t> faulted_clients(std::string_view text) {
    std::vector<std::int64_t> out;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (const std::int64_t pid = faulted_client(text.substr(0, end)); pid != 0)
            out.push_back(pid);
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return out;
}

}  // namespace tessera::mps

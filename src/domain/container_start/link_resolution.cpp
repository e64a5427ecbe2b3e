#include "domain/container_start/link_resolution.hpp"

#include <fmt/format.h>

#include <deque>
#include <vector>

#include "domain/container_start/path_parts.hpp"

namespace tessera {
namespace {

constexpr int kMostLinks = 40;  // as Linux: path_resolution(7)

// Inserts the parts of `path` at the front.
void put_parts(std::string_view path, std::deque<std::string>& parts) {
    const std::vector<std::string_view> front = path_parts(path);
    parts.insert(parts.begin(), front.begin(), front.end());
}

}  // namespace

std::string with_folders_resolved(std::string_view path, const LinkReader& link_at) {
    const std::size_t last = path.rfind('/');
    if (last == std::string_view::npos) return std::string(path);
    std::deque<std::string> parts;
    put_parts(path.substr(0, last), parts);
    std::string at;
    for (int links = 0; !parts.empty();) {
        const std::string part = parts.front();
        parts.pop_front();
        if (part == "..") {
            at.erase(at.empty() ? 0 : at.rfind('/'));
            continue;
        }
        const std::string next = fmt::format("{}/{}", at, part);
        const auto link = link_at(next);
        if (!link) {
            at = next;
            continue;
        }
        if (++links > kMostLinks) return std::string(path);
        if (link->starts_with('/')) at.clear();
        put_parts(*link, parts);
    }
    return at + std::string(path.substr(last));
}

}  // namespace tessera

// The names in a path.
#pragma once

#include <string_view>
#include <vector>

namespace tessera {

// The parts between slashes, without empty ones and ".". They point into `path`.
inline std::vector<std::string_view> path_parts(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
        if (!part.empty() && part != ".") parts.push_back(part);
    }
    return parts;
}

}  // namespace tessera

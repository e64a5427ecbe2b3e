// Names of nodes in a message.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace tessera {

// "a, b" or, of more than five, "a, b, c, d, e and 2 more".
inline std::string names_of_nodes(const std::vector<NodeName>& nodes) {
    constexpr std::size_t kNamed = 5;
    const auto names = nodes | std::views::take(kNamed) | std::views::transform(&NodeName::str);
    const std::string more =
        nodes.size() > kNamed ? fmt::format(" and {} more", nodes.size() - kNamed) : "";
    return fmt::format("{}{}", fmt::join(names, ", "), more);
}

}  // namespace tessera

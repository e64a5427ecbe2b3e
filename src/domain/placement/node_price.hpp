// Which of the nodes that can take a pod is the best: the lowest price. One rule for filter,
// prioritize and bind, and for who foretells them (domain/defrag).
#pragma once

#include <cstdint>
#include <utility>

#include "domain/cluster/node.hpp"
#include "domain/placement/node_rater.hpp"

namespace tessera {

using NodePrice = std::pair<std::int64_t, std::int64_t>;

// By the best fit of place.hpp: what stays free on the pod's cards; among equals the fuller node,
// of which less is free on all cards (`spare`).
inline NodePrice price_of_fit(std::int64_t left_on_cards, Bytes spare) {
    return {left_on_cards, spare.count};
}

// By a rater: its rating turned round, and the first in the order of the view among equals. Of
// nodes that it has no say on: the best fit.
inline NodePrice price_of_rating(std::int64_t rating, std::int64_t left_on_cards,
                                 std::size_t position) {
    return {-rating,
            rating == NodeRater::kLast ? left_on_cards : static_cast<std::int64_t>(position)};
}

}  // namespace tessera

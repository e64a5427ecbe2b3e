// Which node is the best of those on which a pod fits: the lowest price. One rule for filter,
// prioritize and bind, and for the programs that predict them (domain/defrag).
#pragma once

#include <cstdint>
#include <utility>

#include "domain/cluster/node.hpp"
#include "domain/placement/node_scorer.hpp"

namespace tessera {

using NodePrice = std::pair<std::int64_t, std::int64_t>;

// By the best fit of place.hpp: what stays free on the pod's GPUs. Among equals the fuller node,
// which has less free on all its GPUs (`spare`).
inline NodePrice price_of_assignment(std::int64_t left_on_gpus, Bytes spare) {
    return {left_on_gpus, spare.count};
}

// By a scorer: its negative score; among equals, the first in the snapshot's order. For nodes that
// it cannot score: the best fit.
inline NodePrice price_of_score(std::int64_t score, std::int64_t left_on_gpus,
                                std::size_t position) {
    return {-score,
            score == NodeScorer::kLast ? left_on_gpus : static_cast<std::int64_t>(position)};
}

}  // namespace tessera

// The prices of a cluster's nodes, and the cheapest node.
#pragma once

#include <cstdint>
#include <limits>

#include "domain/placement/engine/tournament.hpp"
#include "domain/placement/node_price.hpp"

namespace tessera::defrag {

struct CheapestFirst {
    using Score = NodePrice;
    static constexpr Score kNone{std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::max()};
    constexpr bool operator()(const Score& a, const Score& b) const { return b < a; }
};

// By node; kNone: the node cannot take the pod.
using PriceList = TournamentOf<CheapestFirst>;

}  // namespace tessera::defrag

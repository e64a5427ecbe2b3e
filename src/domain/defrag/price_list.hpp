// What the nodes of a cluster cost, and which of them is the cheapest.
#pragma once

#include <cstdint>
#include <limits>

#include "domain/placement/fleet/tournament.hpp"
#include "domain/placement/node_price.hpp"

namespace tessera::defrag {

struct CheapestFirst {
    using Score = NodePrice;
    static constexpr Score kNone{std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::max()};
    constexpr bool operator()(const Score& a, const Score& b) const { return b < a; }
};

// By node; kNone: it takes no such pod.
using PriceList = TournamentOf<CheapestFirst>;

}  // namespace tessera::defrag

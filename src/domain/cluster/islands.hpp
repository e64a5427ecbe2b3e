// The islands of a node's cards.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera {

// A node with more cards has no islands: there may be as many as 3^(cards/3).
inline constexpr std::size_t kMostLinkedCards = 16;
inline constexpr std::size_t kMostIslands = 64;

// The nearest first, then those that cross the fewest, then by their cards; the first kMostIslands.
// Two cards are linked where both say so.
std::vector<Island> islands_of(std::span<const Gpu> gpus);

}  // namespace tessera

// From which of a node's cards a container takes its own, by how they are linked: several near each
// other, a single one where it breaks up the least.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera {

// The sets from which the container takes its cards: the first that has room is the best. The
// nearest link first, of islands with the same the one with the least free; then any cards, where
// the pod does not insist on a link. Of one card: any.
std::vector<CardMask> card_sets(const Offer& offer, const GpuRequest& gpu);

// The same where there is nothing to choose, which is nearly always.
bool takes_any_cards(const Offer& offer, const GpuRequest& gpu);

// `card`, or one that is like it, idle and in whose islands fewer others are idle: to take it
// leaves larger islands whole. `may_take` says which.
std::size_t least_missed(const Offer& offer, std::size_t card,
                         const std::function<bool(std::size_t)>& may_take);

}  // namespace tessera

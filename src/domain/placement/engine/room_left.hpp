// Binpack: the GPUs with the least free that is enough, on any node, as gpushare chooses within one
// node (docs/research/gpushare.md §2.5).
//
//     score = - (free thousandths left on the GPUs that are taken)
//
// Spread: the opposite, the emptiest GPUs, for users that prefer few neighbours.
//
//     score = free thousandths left on the GPUs that are taken
//
// Neither uses CPU for tasks with GPUs. Tasks without GPUs go to the node with the least CPU left
// (binpack) or the most (spread).
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

std::unique_ptr<PlacementPolicy> binpack_placement_policy(const PolicyInputs& inputs);
std::unique_ptr<PlacementPolicy> spread_placement_policy(const PolicyInputs& inputs);

}  // namespace tessera

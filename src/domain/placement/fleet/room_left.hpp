// Binpack: the cards with the least room that is enough, on whichever node, as gpushare chooses
// within one (docs/research/gpushare.md §2.5).
//     score = - (free thousandths left on the cards that are taken)
// Spread: the other way round, the emptiest cards; for those who would rather have few neighbours.
//     score = free thousandths left on the cards that are taken
// Neither looks at CPU. Tasks without cards go to the node with the least CPU left, or the most.
#pragma once

#include <memory>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

std::unique_ptr<FleetPolicy> binpack_fleet_policy(const PolicyInputs& inputs);
std::unique_ptr<FleetPolicy> spread_fleet_policy(const PolicyInputs& inputs);

}  // namespace tessera

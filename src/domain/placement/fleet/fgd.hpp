// FGD, fragmentation gradient descent (USENIX ATC 2023): the task goes where the fragmentation F of
// the node (fragmentation.hpp) grows least.
//     score = trunc(100 sigmoid((F before - F after) / 1000))
// A share of one card: each card that fits is tried, the first with the highest score is taken.
// Whole cards, several cards, none: the tightest. The truncation is part of the policy: near 0 one
// step is 40 thousandths of a card, so many nodes tie, and the first in order among them takes the
// task. Without it the published results are missed by up to a point.
#pragma once

#include <memory>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

std::unique_ptr<FleetPolicy> fgd_policy(const PolicyInputs& inputs);

}  // namespace tessera

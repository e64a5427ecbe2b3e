// FGD, fragmentation gradient descent (USENIX ATC 2023): the task goes where the fragmentation F of
// the node (fragmentation.hpp) grows least.
//
//     score = trunc(100 sigmoid((F before - F after) / 1000))
//
// For a share of one GPU, each GPU that fits is tried, and the first with the highest score is
// taken. For whole GPUs, several GPUs or none: the tightest. The truncation is part of the policy.
// Near 0 one step is 40 thousandths of a GPU, and many nodes tie: the first one in order takes
// the task. Without the truncation the results differ from the published ones by up to one point.
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

std::unique_ptr<PlacementPolicy> fgd_policy(const PolicyInputs& inputs);

}  // namespace tessera

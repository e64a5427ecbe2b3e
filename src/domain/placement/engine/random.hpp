// Random: any node that can take the task, and any of its GPUs that fit, all with equal
// probability. Every other policy must be better than this one.
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

std::unique_ptr<PlacementPolicy> random_policy(const PolicyInputs& inputs);

}  // namespace tessera

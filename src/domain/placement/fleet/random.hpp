// Random: any node that can take the task, and any of its cards that fit, all equally likely. What
// every other policy must beat.
#pragma once

#include <memory>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

std::unique_ptr<FleetPolicy> random_policy(const PolicyInputs& inputs);

}  // namespace tessera

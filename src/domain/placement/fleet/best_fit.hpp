// BestFit of the FGD artefact: the node that has least left once the task is there, CPU and GPU
// together, each as a part of the largest node's (128 cores, 8 cards).
//     score = trunc(100 (1 - (0.5 cpu_left / 128 + 0.5 gpu_left / 8)))
// The artefact then stretches the scores of one decision to 0..100; that changes no order.
// Cards: the tightest. Source: hkust-adsl/kubernetes-scheduler-simulator (USENIX ATC 2023).
#pragma once

#include <memory>

#include "domain/placement/fleet/policy.hpp"

namespace tessera {

std::unique_ptr<FleetPolicy> best_fit_policy(const PolicyInputs& inputs);

}  // namespace tessera

// BestFit of the FGD artefact: the node that has the least left after the task, CPU and GPU
// together. Each counts as a fraction of the largest node's (128 cores, 8 GPUs).
//
//     score = trunc(100 (1 - (0.5 cpu_left / 128 + 0.5 gpu_left / 8)))
//
// The artefact then stretches the scores of one decision to 0..100, which changes no order. GPUs:
// the tightest. Source: hkust-adsl/kubernetes-scheduler-simulator (USENIX ATC 2023).
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

std::unique_ptr<PlacementPolicy> best_fit_policy(const PolicyInputs& inputs);

}  // namespace tessera

// Packing of the FGD artefact: GPUs in use come first, then free GPUs of a node in use, then free
// nodes. Tasks without GPUs go to the first node that fits. The score is:
//
//     all GPUs of the node are free    max(33 - GPUs, GPUs)
//     else, if free GPUs are needed    max(50 - free GPUs that the task takes, 33)
//     else                             max(100 - (percent free, summed over its GPUs) / 10, 50)
//
// The divisions are integer divisions. GPUs: the tightest. Source:
// hkust-adsl/kubernetes-scheduler-simulator (USENIX ATC 2023).
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

std::unique_ptr<PlacementPolicy> packing_policy(const PolicyInputs& inputs);

}  // namespace tessera

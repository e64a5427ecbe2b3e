// Clustering of the FGD artefact: tasks that request the same number of GPUs share nodes. Kinds are
// shares of a GPU, and 1, 2, 4 ... whole GPUs (kind_of). Tasks without GPUs go to the first node
// that fits. The score is the sum of two terms:
//
//     25 (8000 - free milli of the node) / 8000, an integer division. For a node with more than
//     eight GPUs, the milli of all its GPUs replace 8000.
//
//     75 if only this kind runs there, 50 if it runs beside others, 25 if no task with GPUs runs,
//     0 if only other kinds run.
//
// GPUs: the tightest. Source: hkust-adsl/kubernetes-scheduler-simulator (USENIX ATC 2023).
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

std::unique_ptr<PlacementPolicy> clustering_policy(const PolicyInputs& inputs);

}  // namespace tessera

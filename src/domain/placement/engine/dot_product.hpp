// DotProd of the FGD artefact, after Tetris (SIGCOMM 2014): the node whose free resources have the
// smallest dot product with the request. All GPUs of a node are one dimension.
//
//     score = trunc(100 (1 - (cpu_free cpu_asked / 128^2 + gpu_free gpu_asked / 8^2) / 2))
//
// GPUs: the tightest. Source: hkust-adsl/kubernetes-scheduler-simulator (USENIX ATC 2023).
#pragma once

#include <memory>

#include "domain/placement/engine/policy.hpp"

namespace tessera {

std::unique_ptr<PlacementPolicy> dot_product_policy(const PolicyInputs& inputs);

}  // namespace tessera

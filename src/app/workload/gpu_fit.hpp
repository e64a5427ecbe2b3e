// Whether a job's request for GPUs can ever be met.
#pragma once

#include <span>
#include <string>

#include "domain/cluster/node.hpp"
#include "domain/workload/gpu_flags.hpp"

namespace tessera {

// Why the request fits no GPU of these nodes, even an unused one, and which is the closest. Empty
// if it fits, or if there are no GPUs.
std::string no_gpu_is_large_enough(const workload::Gpus& request,
                                   std::span<const NodeInventory> nodes);

}  // namespace tessera

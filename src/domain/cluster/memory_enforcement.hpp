// Where the driver limits the memory of containers (Gpu::limits_memory).
#pragma once

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// Whether it does on the GPUs of all the shares, by what the node says now. Whole GPUs need no
// limit.
bool driver_limits_memory(const Allocation& allocation, const NodeInventory& node);

}  // namespace tessera

#include "domain/cluster/memory_enforcement.hpp"

#include <algorithm>

namespace tessera {

bool driver_limits_memory(const Allocation& allocation, const NodeInventory& node) {
    return std::ranges::all_of(allocation.containers, [&](const ContainerAllocation& container) {
        return !has_share(container) ||
               std::ranges::all_of(container.gpus, [&](const GpuShare& share) {
                   const Gpu* gpu = find_gpu(node.gpus, share.uuid);
                   return gpu != nullptr && gpu->limits_memory;
               });
    });
}

}  // namespace tessera

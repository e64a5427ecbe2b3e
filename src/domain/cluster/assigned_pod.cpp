#include "domain/cluster/assigned_pod.hpp"

#include <algorithm>

namespace tessera {
namespace {

// A share that was given while an agent served the node, on a node of gpushare's plugin: there the
// GPUs are known by index only (InventorySource::legacy).
const Gpu* gpu_by_index(const Allocation& allocation, std::span<const Gpu> gpus,
                        const GpuUuid& uuid) {
    for (const ContainerAllocation& container : allocation.containers) {
        const auto share = std::ranges::find(container.gpus, uuid, &GpuShare::uuid);
        if (share != container.gpus.end()) return find_gpu(gpus, uuid_of_index(share->index));
    }
    return nullptr;
}

const Gpu* gpu_of(const AssignedPod& assigned_pod, std::span<const Gpu> gpus, const GpuUuid& uuid) {
    if (const Gpu* gpu = find_gpu(gpus, uuid)) return gpu;
    const bool is_legacy = !gpus.empty() && gpus.front().uuid == uuid_of_index(gpus.front().index);
    return is_legacy ? gpu_by_index(assigned_pod.allocation, gpus, uuid) : nullptr;
}

}  // namespace

void count_allocated(const AssignedPod& assigned_pod, std::span<const Gpu> gpus,
                     std::span<GpuState> states, int sign) {
    for (const GpuAllocation& on_gpu : assigned_pod.allocated) {
        const Gpu* gpu = gpu_of(assigned_pod, gpus, on_gpu.uuid);
        if (gpu == nullptr) continue;
        GpuState& state = states[static_cast<std::size_t>(gpu - gpus.data())];
        // A pod counts as at most a whole GPU, whatever its annotation says, so that sums cannot
        // overflow.
        state.allocated.count += sign * std::min(on_gpu.memory, state.capacity).count;
        state.allocated_cores.value += sign * std::min(on_gpu.cores, Percent{100}).value;
        state.pods += sign;
        if (on_gpu.mps) state.mps_pods += sign;
        for (const GpuGroup group : assigned_pod.groups) {
            if (sign > 0) {
                state.groups.push_back(group);
            } else if (const auto at = std::ranges::find(state.groups, group);
                       at != state.groups.end()) {
                state.groups.erase(at);
            }
        }
    }
}

}  // namespace tessera

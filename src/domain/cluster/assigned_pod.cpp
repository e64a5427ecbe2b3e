#include "domain/cluster/assigned_pod.hpp"

#include <algorithm>

namespace tessera {

void count_allocated(const AssignedPod& assigned_pod, std::span<const Gpu> gpus,
                     std::span<GpuState> states, int sign) {
    for (const GpuAllocation& on_gpu : assigned_pod.allocated) {
        const Gpu* gpu = find_gpu(gpus, on_gpu.uuid);
        if (gpu == nullptr) continue;
        GpuState& state = states[static_cast<std::size_t>(gpu - gpus.data())];
        // A pod counts as at most a whole GPU, whatever its annotation says, so that sums cannot
        // overflow.
        state.allocated.count += sign * std::min(on_gpu.memory, state.capacity).count;
        state.allocated_cores.value += sign * std::min(on_gpu.cores, Percent{100}).value;
        state.pods += sign;
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

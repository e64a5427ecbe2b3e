#include "domain/cluster/assigned_pod.hpp"

#include <algorithm>

namespace tessera {

void count_holds(const AssignedPod& assigned_pod, std::span<const Gpu> gpus,
                 std::span<GpuState> states, int sign) {
    for (const Hold& hold : assigned_pod.holds) {
        const Gpu* gpu = find_gpu(gpus, hold.uuid);
        if (gpu == nullptr) continue;
        GpuState& state = states[static_cast<std::size_t>(gpu - gpus.data())];
        // A pod counts as at most a whole GPU, whatever its annotation says, so that sums cannot
        // overflow.
        state.held.count += sign * std::min(hold.memory, state.capacity).count;
        state.cores_held.value += sign * std::min(hold.cores, Percent{100}).value;
        state.holders += sign;
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

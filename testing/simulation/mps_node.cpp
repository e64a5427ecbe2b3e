#include "testing/simulation/mps_node.hpp"

#include "testing/simulation/loop_clock.hpp"
#include "testing/simulation/machine.hpp"

namespace tessera::simulation {

std::vector<GpuUuid> MpsNode::gpus() const {
    std::vector<GpuUuid> out;
    for (const PhysicalGpu& gpu : machine_.gpus) {
        if (wants_.contains(gpu.uuid) || serves_.contains(gpu.uuid)) out.push_back(gpu.uuid);
    }
    return out;
}

Result<std::optional<MpsSettings>> MpsNode::wanted(const GpuUuid& gpu) const {
    const auto at = wants_.find(gpu);
    return at == wants_.end() ? std::nullopt : std::optional(at->second);
}

Result<> MpsNode::want(const GpuUuid& gpu, const std::optional<MpsSettings>& settings) {
    if (settings) {
        wants_.insert_or_assign(gpu, *settings);
    } else {
        wants_.erase(gpu);
    }
    scene_.loop.after(scene_.rng.between(Time(10ms), Time(5s)), [this, gpu] { follow(gpu); });
    return {};
}

void MpsNode::follow(const GpuUuid& gpu) {
    const auto at = wants_.find(gpu);
    if (at == wants_.end()) {
        serves_.erase(gpu);
    } else {
        serves_.insert_or_assign(gpu, at->second);
    }
}

Result<std::optional<MpsState>> MpsNode::state(const GpuUuid& gpu) const {
    const auto at = serves_.find(gpu);
    if (at == serves_.end()) return std::nullopt;
    return MpsState{.gpu = gpu,
                    .phase = MpsPhase::ready,
                    .pid = 1,
                    .settings = at->second,
                    .checked_unix_ns = LoopClock(scene_.loop).unix_ns()};
}

std::vector<MpsGrant> MpsNode::grants() const {
    std::vector<MpsGrant> out;
    for (const auto& [id, container] : machine_.containers) {
        if (!container.uses_mps) continue;
        for (const auto& [gpu, memory] : container.gpus) {
            out.push_back({.pod = container.pod,
                           .container = container.name,
                           .gpu = gpu,
                           .threads = {1},
                           .memory = memory});
        }
    }
    return out;
}

}  // namespace tessera::simulation

#include "domain/placement/gpu_constraints.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool has(const GpuState& gpu, GpuGroup group) {
    return std::ranges::find(gpu.groups, group) != gpu.groups.end();
}

}  // namespace

void GpuConstraints::look_at(const NodeGpus& node_gpus) {
    if (any_) return;
    const bool joins_here =
        rules_.affinity && std::ranges::any_of(node_gpus.states, [&](const GpuState& gpu) {
            return has(gpu, *rules_.affinity);
        });
    verdicts_.assign(node_gpus.states.size(), Admitted::yes);
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
        const GpuState& gpu = node_gpus.states[i];
        if (!admits_names(node_gpus.gpus[i])) {
            verdicts_[i] = Admitted::other_gpu;
        } else if ((rules_.anti_affinity && has(gpu, *rules_.anti_affinity)) ||
                   ((rules_.joins || joins_here) && !has(gpu, *rules_.affinity))) {
            verdicts_[i] = Admitted::affinity;
        }
    }
}

bool GpuConstraints::admits_names(const Gpu& gpu) {
    if (!admits_uuid(rules_, gpu.uuid)) return false;
    const auto known = std::ranges::find(models_, gpu.model, &std::pair<std::string, bool>::first);
    if (known != models_.end()) return known->second;
    const bool is_admitted = admits_model(rules_, gpu.model);
    models_.emplace_back(gpu.model, is_admitted);
    return is_admitted;
}

}  // namespace tessera

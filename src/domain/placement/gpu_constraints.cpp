#include "domain/placement/gpu_constraints.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool has(const GpuState& gpu, GpuGroup group) {
    return std::ranges::find(gpu.groups, group) != gpu.groups.end();
}

bool is_offered(const GpuRules& rules, const NodeGpus& node_gpus, std::size_t gpu) {
    if (!rules.isolation) return true;
    const Gpu& offered = node_gpus.gpus[gpu];
    switch (*rules.isolation) {
        case Isolation::mps:
            return offered.offers_mps;
        case Isolation::driver:
            return node_gpus.is_guarded && offered.limits_memory;
        case Isolation::guard:
            break;
    }
    return node_gpus.is_guarded;
}

}  // namespace

void GpuConstraints::look_at(const NodeGpus& node_gpus) {
    all_ = any_ && std::ranges::all_of(node_gpus.states,
                                       [](const GpuState& gpu) { return gpu.may_join(false); });
    if (all_) return;
    const bool joins_here =
        rules_.affinity && std::ranges::any_of(node_gpus.states, [&](const GpuState& gpu) {
            return has(gpu, *rules_.affinity);
        });
    verdicts_.assign(node_gpus.states.size(), Admitted::yes);
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i)
        verdicts_[i] = judge(node_gpus, i, joins_here);
}

Admitted GpuConstraints::judge(const NodeGpus& node_gpus, std::size_t gpu, bool joins_here) {
    const GpuState& state = node_gpus.states[gpu];
    if (!admits_names(node_gpus.gpus[gpu])) return Admitted::other_gpu;
    if (!is_offered(rules_, node_gpus, gpu)) return Admitted::not_offered;
    if (!state.may_join(rules_.uses_mps())) return Admitted::isolation;
    if (rules_.anti_affinity && has(state, *rules_.anti_affinity)) return Admitted::affinity;
    if ((rules_.joins || joins_here) && !has(state, *rules_.affinity)) return Admitted::affinity;
    return Admitted::yes;
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

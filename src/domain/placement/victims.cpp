#include "domain/placement/victims.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

using AssignedPods = std::vector<const AssignedPod*>;

// The node's GPUs, from which pods are removed and added again on trial.
class Trial {
  public:
    Trial(const NodeInfo& node, const PodRequest& pod)
        : node_(node), pod_(pod), placer_(pod.containers), gpus_(node.gpus) {}

    void remove(const AssignedPod& assigned_pod) {
        count_allocated(assigned_pod, node_.inventory.gpus, gpus_, -1);
    }
    void put_back(const AssignedPod& assigned_pod) {
        count_allocated(assigned_pod, node_.inventory.gpus, gpus_, 1);
    }
    [[nodiscard]] bool fits() {
        std::vector<GpuState> gpus = gpus_;
        count_nominees(node_, to_place(pod_), gpus);
        const RoomLeft left(std::move(gpus));
        return placer_.try_node(left.node_gpus(node_)) != nullptr;
    }

  private:
    const NodeInfo& node_;
    const PodRequest& pod_;
    Placer placer_;
    std::vector<GpuState> gpus_;
};

std::int64_t memory_of(const AssignedPod& assigned_pod) {
    return std::accumulate(
        assigned_pod.allocated.begin(), assigned_pod.allocated.end(), std::int64_t{0},
        [](std::int64_t sum, const GpuAllocation& on_gpu) { return sum + on_gpu.memory.count; });
}

// The highest priority first; among equals the smallest, so that few large pods are evicted instead
// of many small ones.
bool spared_before(const AssignedPod* a, const AssignedPod* b) {
    return std::tuple(-a->priority, memory_of(*a), a->name, a->uid) <
           std::tuple(-b->priority, memory_of(*b), b->name, b->uid);
}

// The cost to minimise. `victims` must not be empty.
auto cost_of(const AssignedPods& victims) {
    std::int64_t sum = 0;
    for (const AssignedPod* victim : victims)
        sum += victim->priority;
    return std::tuple(victims.front()->priority, victims.size(), sum);
}

bool is_one_of(const PodUid& uid, std::span<const PodUid> pods) {
    return std::ranges::find(pods, uid) != pods.end();
}

// The candidates that must be evicted; nothing if the pod does not fit even without all of them.
std::optional<AssignedPods> needed_of(Trial trial, AssignedPods candidates) {
    for (const AssignedPod* assigned_pod : candidates)
        trial.remove(*assigned_pod);
    if (!trial.fits()) return std::nullopt;
    std::ranges::sort(candidates, spared_before);
    AssignedPods victims;
    for (const AssignedPod* assigned_pod : candidates) {
        trial.put_back(*assigned_pod);
        if (trial.fits()) continue;
        trial.remove(*assigned_pod);
        victims.push_back(assigned_pod);
    }
    return victims;
}

}  // namespace

bool is_affine(const AssignedPod& assigned_pod, const PodRequest& pod) {
    const auto& group = rules_of(pod.containers).affinity;
    return group && assigned_pod.affinity == group;
}

Preemption plan_preemption(const NodeInfo& node, const PodRequest& pod,
                           std::span<const PodUid> ending, std::span<const PodUid> guarded) {
    Preemption plan;
    if (!node.blocked.empty() || node.gpus.empty()) return plan;
    Placer placer(pod.containers);
    if (try_left(placer, node, to_place(pod)) != nullptr) {
        plan.kind = Preemption::Kind::fits;
        return plan;
    }
    Trial trial(node, pod);
    AssignedPods lower;
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
        if (assigned_pod->terminating || is_one_of(assigned_pod->uid, ending)) {
            trial.remove(*assigned_pod);
        } else if (assigned_pod->stage == Stage::observed &&
                   assigned_pod->priority < pod.priority &&
                   !is_one_of(assigned_pod->uid, guarded) && !is_affine(*assigned_pod, pod)) {
            lower.push_back(assigned_pod.get());
        }
    }
    if (trial.fits()) {
        plan.kind = Preemption::Kind::soon;
        return plan;
    }
    const auto consider = [&](AssignedPods candidates) {
        auto needed = needed_of(trial, std::move(candidates));
        if (!needed) return;
        const bool is_first = plan.kind == Preemption::Kind::never;
        if (!is_first && cost_of(*needed) >= cost_of(plan.victims)) return;
        plan = {Preemption::Kind::evict, *std::move(needed)};
    };
    for (const Gpu& gpu : node.inventory.gpus) {
        AssignedPods here;
        for (const AssignedPod* assigned_pod : lower) {
            const bool is_here =
                std::ranges::any_of(assigned_pod->allocated, [&](const GpuAllocation& on_gpu) {
                    return find_gpu(node.inventory.gpus, on_gpu.uuid) == &gpu;
                });
            if (is_here) here.push_back(assigned_pod);
        }
        consider(std::move(here));
    }
    consider(lower);
    return plan;
}

bool costs_less(const Preemption& a, const Preemption& b) {
    return cost_of(a.victims) < cost_of(b.victims);
}

}  // namespace tessera

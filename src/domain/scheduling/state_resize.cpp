// ClusterState's part for resizes of running pods.
#include <fmt/format.h>

#include "domain/placement/nominees.hpp"
#include "domain/scheduling/resize_grant.hpp"
#include "domain/scheduling/state.hpp"

namespace tessera {

void ClusterState::note_resize_request(const PodInfo& pod) {
    const Allocation* own = pod.resize ? own_allocation(pod) : nullptr;
    const bool is_open = pod.resize && !pod.terminating && !pod.node.empty() &&
                         !pod.containers.empty() &&
                         (!*pod.resize || own == nullptr || !is_granted(**pod.resize, *own));
    if (is_open) {
        resize_requests_.insert_or_assign(pod.uid, pod.name);
    } else {
        resize_requests_.erase(pod.uid);
    }
}

// Updates the values of a bound pod that can change.
void ClusterState::update_seen(const AssignedPod& assigned, const PodInfo& pod) {
    const Allocation* own = own_allocation(pod);
    const bool is_resized = own != nullptr && is_resize_of(assigned.allocation, *own);
    if (assigned.terminating == pod.terminating && !is_resized) return;
    AssignedPod assigned_pod = assigned;
    assigned_pod.terminating = pod.terminating;
    if (is_resized) {
        assigned_pod.allocation = *own;
        assigned_pod.resizing.reset();
        assigned_pod.allocated = allocated_by_gpu(own->containers);
    }
    assign(std::move(assigned_pod));
}

Result<ResizeDecision> ClusterState::begin_resize(const PodInfo& pod, bool is_over) {
    const auto at = assigned_pods_.find(pod.uid);
    const Allocation* own = own_allocation(pod);
    if (pod.node.empty() ||
        (own != nullptr && (at == assigned_pods_.end() || at->second->stage != Stage::observed))) {
        return ResizeDecision{.kind = ResizeDecision::Kind::later};
    }
    if (own == nullptr) {
        return fail(Code::unsupported,
                    "the pod has no share from Tessera, so there is nothing to resize");
    }
    const AssignedPodPtr found = at->second;  // end_resize replaces it
    const Allocation& assigned = found->allocation;
    if (is_resize_of(assigned, *own)) return ResizeDecision{.kind = ResizeDecision::Kind::later};
    if (is_over) end_resize(pod.uid);
    if (!pod.resize) return ResizeDecision{};
    if (!*pod.resize) return fail(pod.resize->error());
    if (*own != assigned) {
        return fail(Code::conflict,
                    "the pod's annotation tessera.dev/allocation was changed by another program; "
                    "delete the pod");
    }
    if (is_granted(**pod.resize, assigned)) return ResizeDecision{};
    if (uses_mps(assigned)) {
        return fail(Code::unsupported,
                    "the pod uses NVIDIA MPS (tessera.dev/isolation: mps), which gives a program "
                    "its limits when it starts; create the pod again with other amounts");
    }
    if (!pod.is_guarded) {
        TRY_VOID(check_has_shares(**pod.resize, assigned));
        return fail(
            Code::unsupported,
            "the guard does not enforce the pod's shares (annotation tessera.dev/enforced-by), so "
            "they cannot change while it runs");
    }
    AssignedPod assigned_pod = *assigned_pods_.at(pod.uid);
    const NodeInfo now = build(nodes_.at(pod.node));
    const std::vector<Gpu>& gpus = now.inventory.gpus;
    const auto try_on = [&](std::vector<GpuState> states) {
        count_allocated(assigned_pod, gpus, states, -1);
        return resize(assigned_pod.allocation, **pod.resize, {gpus, states, now.inventory.unit});
    };
    const PodToPlace to_place{pod.uid, pod.priority};
    auto after = try_on(gpus_left(now, to_place));
    if (!after && after.error().code == Code::unavailable && try_on(now.gpus))
        return fail(Code::unavailable, reserved_for(now, to_place, Reader::of(pod.name.ns)));
    if (!after) return fail(after.error());
    const auto wanted = allocated_by_gpu(after->containers);
    const auto before = allocated_by_gpu(assigned_pod.allocation.containers);
    // It is not known what is free there. A smaller share is always granted.
    if (!now.blocked.empty() && larger(before, wanted) != before)
        return fail(Code::unavailable, blocked_for(now, Reader::of(pod.name.ns)));
    assigned_pod.resizing = *after;
    assigned_pod.allocated = larger(before, wanted);
    ResizeDecision decision{.kind = ResizeDecision::Kind::write,
                            .before = assigned_pod.allocation,
                            .after = *std::move(after),
                            .node = now.inventory};
    assign(std::move(assigned_pod));
    return decision;
}

void ClusterState::end_resize(const PodUid& uid) {
    const auto at = assigned_pods_.find(uid);
    if (at == assigned_pods_.end() || !at->second->resizing) return;
    AssignedPod assigned_pod = *at->second;
    assigned_pod.resizing.reset();
    assigned_pod.allocated = allocated_by_gpu(assigned_pod.allocation.containers);
    assign(std::move(assigned_pod));
}

}  // namespace tessera

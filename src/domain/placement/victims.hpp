// Preemption on one node: which pods of lower priority must be evicted so that a pod gets its GPUs.
// kube-scheduler itself can only count the sums of a node.
#pragma once

#include <span>
#include <vector>

#include "domain/cluster/pod_request.hpp"
#include "domain/cluster/snapshot.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

struct Preemption {
    enum class Kind {
        evict,  // the pod fits once `victims` are gone
        fits,   // it fits now
        soon,   // it fits once the pods that are terminating are gone
        never,  // it does not fit even without all pods of lower priority
    };
    Kind kind = Kind::never;
    // Highest priority first; each of them is necessary. Valid as long as the NodeInfo.
    std::vector<const AssignedPod*> victims;

    friend bool operator==(const Preemption&, const Preemption&) = default;
};

// Chooses the victims per GPU, or on the node for a pod that needs several GPUs. As kube-scheduler
// does, it spares pods from the highest priority down, and the smallest first among equals. It
// prefers the GPU whose highest victim has the lowest priority, then the one with the fewest
// victims, then the one with the lowest sum of priorities. It never evicts pods that were not
// observed as bound. `ending`: pods that terminate anyway. `guarded`: pods that must not be
// evicted. GPUs reserved for nominees (nominees.hpp) are not free.
Preemption plan_preemption(const NodeInfo& node, const PodRequest& pod,
                           std::span<const PodUid> ending = {},
                           std::span<const PodUid> guarded = {});

// Whether `pod` wants to share GPUs with the assigned pod (GpuRules::affinity). Such a pod is never
// evicted for it.
bool is_affine(const AssignedPod& assigned_pod, const PodRequest& pod);

// Whether `a` is the better plan, by the order of preference for GPUs above.
bool costs_less(const Preemption& a, const Preemption& b);

}  // namespace tessera

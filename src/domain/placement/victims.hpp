// Preemption on one node: which pods of lower priority must end so that a pod really gets its
// cards. kube-scheduler itself can only count a node's sums.
#pragma once

#include <span>
#include <vector>

#include "domain/cluster/pod_ask.hpp"
#include "domain/cluster/view.hpp"
#include "domain/request/gpu_request.hpp"

namespace tessera {

struct Preemption {
    enum class Kind {
        evict,  // the pod fits once `victims` are gone
        fits,   // it fits as it is
        soon,   // it fits once pods that are ending already are gone
        never,  // it does not fit even without every pod of lower priority
    };
    Kind kind = Kind::never;
    // Highest priority first; none of them can be spared. As long as the node's view lives.
    std::vector<const Tenant*> victims;

    friend bool operator==(const Preemption&, const Preemption&) = default;
};

// On each card (or, for a pod that needs several, on the node) pods are spared from the most
// important on, and from the smallest among equals, as kube-scheduler does it. Of the cards: the
// one whose highest victim has the lowest priority, then the one with the fewest victims, then the
// lowest sum of priorities. Pods that the API server has not shown bound yet are let be. `ending`:
// pods that are to end anyhow; `guarded`: that must not. What is kept for nominees (nominees.hpp)
// is not room.
Preemption plan_preemption(const NodeView& node, const PodAsk& pod,
                           std::span<const PodUid> ending = {},
                           std::span<const PodUid> guarded = {});

// Whether the pod wants to be on the tenant's cards (CardRules::together): it never ends for it.
bool is_mate(const Tenant& tenant, const PodAsk& pod);

// Whether `a` is the better of two plans to evict, by what is said of cards above.
bool costs_less(const Preemption& a, const Preemption& b);

}  // namespace tessera

// What the preempt verb answers, from one view. Pure.
#pragma once

#include <vector>

#include "domain/cluster/view.hpp"
#include "domain/placement/policy.hpp"
#include "wire/preemption_json.hpp"

namespace tessera {

// kube-scheduler names nodes where its own count of things says that these victims suffice. Of each
// node we keep the victims that hold no GPU, and put those that the cards need in place of the
// others; a node where no card comes free is left out. Nobody is to end at all when the pod fits
// somewhere once pods that are ending already are gone.
std::vector<NodeVictims> choose_victims(const ClusterView& view, const PreemptionArgs& args,
                                        const PodRequest& request, const Policy& policy);

}  // namespace tessera

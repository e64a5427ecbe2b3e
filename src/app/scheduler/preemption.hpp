// What the preempt verb answers, from one view. Pure.
#pragma once

#include <vector>

#include "domain/cluster/view.hpp"
#include "wire/preemption_json.hpp"

namespace tessera {

// kube-scheduler names nodes where by its own count these victims suffice. They stay as they are
// where they free a card, or none is missing. Else those that the cards need are added; they take
// the place of the others that hold shares where these were named for the node's sum of
// aliyun.com/gpu-mem, which is all of the cards that kube-scheduler counts. Left out are nodes
// where no card comes free, where one does soon by itself, or where a pod would end that the pod
// asks to be with.
std::vector<NodeVictims> choose_victims(const ClusterView& view, const PreemptionArgs& args,
                                        const PodAsk& pod);

// Those that have any. kube-scheduler takes a node that comes back without victims for a fault of
// ours, and tries no other one: "expected at least one victim pod".
std::vector<NodeVictims> with_victims(std::vector<NodeVictims> nodes);

}  // namespace tessera

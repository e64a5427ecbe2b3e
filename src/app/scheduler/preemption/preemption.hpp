// What the preempt verb answers, from one snapshot. No side effects.
#pragma once

#include <vector>

#include "domain/cluster/snapshot.hpp"
#include "wire/extender/preemption_json.hpp"

namespace tessera {

// kube-scheduler names nodes where these victims suffice by its own count. The victims are returned
// unchanged if they free a GPU, or if the pod needs no more GPU space. Otherwise the victims that
// the GPUs need are added. If the node's sum of aliyun.com/gpu-mem was too small, which is all that
// kube-scheduler counts of the GPUs, the added victims replace the named ones that have shares. A
// node is left out if no GPU can be freed, if a GPU becomes free soon anyway, or if a pod of the
// preemptor's affinity would be evicted.
std::vector<NodeVictims> choose_victims(const Snapshot& snapshot, const PreemptionArgs& args,
                                        const PodRequest& pod);

// The nodes that have victims. kube-scheduler treats a node that comes back without victims as an
// error of the extender, and tries no other node: "expected at least one victim pod".
std::vector<NodeVictims> with_victims(std::vector<NodeVictims> nodes);

}  // namespace tessera

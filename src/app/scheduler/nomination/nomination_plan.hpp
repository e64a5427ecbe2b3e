// Chooses nodes for the pods of a queue, one after the other.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "app/scheduler/scoring/policy_set.hpp"
#include "domain/scheduling/state.hpp"
#include "ports/clock.hpp"

namespace tessera {

struct PlannedPod {
    QueuedPod pod;
    NodeName node;
};

struct NominationPlan {
    std::deque<PlannedPod> pods;   // in the order of the queue
    std::vector<PodUid> fit_none;  // of the queue: there is no node for them
};

// What planning needs; outlives the call.
struct PlanTools {
    const PolicySet* policies = nullptr;  // null: binpack for all
    Clock& clock;
    std::uint64_t& versions;  // see PlannedSnapshot
    // To which nodes a pod must not be nominated; null: to any.
    std::function<const std::set<NodeName>*(const PodUid&)> excluded;
};

// Each pod gets the best node by its policy, as if the pods before it had their GPUs. Plans at
// least one pod, and no more once `within` has passed.
//
// Pods that fit alike exchange their nodes, so that neighbours in the queue are on different ones:
// for each nominated pod of a node, kube-scheduler copies its object each time it checks that node
// (about 0.04 ms).
NominationPlan plan_nominations(std::shared_ptr<const Snapshot> snapshot,
                                const std::vector<QueuedPod>& queue,
                                std::chrono::nanoseconds within, const PlanTools& tools);

}  // namespace tessera

// tessera defrag: plans the fewest moves, and carries them out one after the other.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "ports/clock.hpp"
#include "ports/kube/defrag_cluster.hpp"

namespace tessera {

// The policy by which each pod of a snapshot is placed (app/explain/predicted_policies.hpp). A
// plan always needs it: a pod that is evicted by a guess at another policy may return to the GPUs
// that were to be freed.
using Predicted = std::function<defrag::ScorerOf(const defrag::ClusterObjects&)>;

struct DefragRequest {
    std::optional<PodName> pod;  // make room for this pod; nothing: free whole GPUs
    int gpus = 1;                // to free, in addition to those that are free now
};

struct DefragAnswer {
    std::variant<defrag::Plan, defrag::NoPlan> found;
    std::map<std::string, int> stays;  // why pods stay → number of pods
    int gpus_wanted = 0;               // whole GPUs free in all; 0 if room for a pod is requested
};

// Reads the cluster and changes nothing. Errors: of the pod (defrag::find_waiting), of reading the
// cluster.
Result<DefragAnswer> plan_defrag(DefragCluster& cluster, const DefragRequest& request,
                                 const Predicted& predicted);

struct DefragRun {
    DefragRequest request;
    defrag::Plan plan;
    int gpus_wanted = 0;
    // Per pod: the time until it is gone, and the time until its controller's new pod is on a node.
    std::chrono::seconds timeout{120};
    std::function<void(const std::string&)> say;  // receives each line of progress
};

// Evicts the plan's first pod, waits until it is gone and its new pod is on a node, and plans again
// from the new state, until the goal is reached. A caller that ends at any instant leaves at most
// one eviction in progress. Errors: conflict, nothing more can be gained, or the eviction is
// forbidden; unavailable, a timeout. Each error says what was done and what is left.
Result<> apply_defrag(DefragCluster& cluster, Clock& clock, const DefragRun& run,
                      const Predicted& predicted);

}  // namespace tessera

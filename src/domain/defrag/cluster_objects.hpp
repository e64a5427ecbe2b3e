// A cluster as defragmentation reads it, and the planning problem that results.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/cluster/pod_group.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/defrag/movable.hpp"
#include "domain/defrag/plan.hpp"
#include "domain/defrag/pod_scheduling.hpp"
#include "domain/scheduling/state.hpp"

namespace tessera::defrag {

struct ClusterObjects {
    std::vector<NodeInventory> nodes;
    std::vector<NodeTraits> traits;  // of the same nodes, in the same order
    std::vector<PodInfo> pods;       // of all namespaces; pods that request GPUs
    std::vector<PodState> states;    // of the same pods, in the same order
    std::vector<PodInfo> others;     // pods that request none: they take CPU and memory
    std::vector<Budget> budgets;
    std::set<std::string> waiting_jobs;  // see replacement_by
    std::vector<PodGroup> pod_groups;    // empty if every pod states the size of its gang
    // Of `pods`, and of those `others` that request GPUs of other products.
    std::map<PodUid, PodScheduling> scheduling;
};

// The scorer that places a pod; null: the best fit of place.hpp.
using ScorerOf = std::function<std::shared_ptr<const NodeScorer>(const PodRequest& pod)>;

// The state with all these nodes and pods.
ClusterState state_of(const ClusterObjects& objects);

// The GPUs, the pods that have them, and the pods that may be moved. A pod whose policy breaks ties
// at random is not moved.
Cluster cluster_of(const ClusterObjects& objects, const ScorerOf& scorer_of);

FreeCapacity free_capacity_of(const ClusterObjects& objects);

// Why pods with GPUs are not moved: reason → number of pods. Explains why no plan was found.
std::map<std::string, int> stays_of(const ClusterObjects& objects, const ScorerOf& scorer_of);

// Its position in ClusterObjects::pods. conflict: the pod requests no GPU of Tessera; the error
// says what to write. not_found: there is no such pod.
Result<std::size_t> find_pod(const ClusterObjects& objects, const PodName& name);

// The pending pod. Errors: those of find_pod; conflict: it is not pending; invalid_argument: its
// request is invalid.
Result<RoomFor> find_waiting(const ClusterObjects& objects, const PodName& name);

}  // namespace tessera::defrag

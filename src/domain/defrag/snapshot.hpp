// A cluster as defragmentation reads it, and the problem that it poses.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "domain/cluster/pod_group.hpp"
#include "domain/cluster/state.hpp"
#include "domain/defrag/movable.hpp"
#include "domain/defrag/plan.hpp"

namespace tessera::defrag {

struct Snapshot {
    std::vector<NodeInventory> nodes;
    std::vector<NodeTraits> traits;  // of the same nodes, in the same order
    std::vector<PodFacts> pods;      // of all namespaces; those that ask for GPUs
    std::vector<PodState> states;    // of the same pods, in the same order
    std::vector<PodFacts> others;    // pods that ask for none: they take CPU and memory
    std::vector<Budget> budgets;
    std::set<std::string> waiting_jobs;  // replacement_by
    std::vector<PodGroup> pod_groups;    // none where no pod leaves it to one how large its gang is
};

// By which a pod is placed; null: the best fit of place.hpp.
using RaterOf = std::function<std::shared_ptr<const NodeRater>(const PodAsk& pod)>;

// All that is known of nodes and pods.
ClusterState state_of(const Snapshot& snapshot);

// The cards, who holds them and who of them may be moved. A pod whose place is drawn by lot stays.
Cluster cluster_of(const Snapshot& snapshot, const RaterOf& rater_of);

Room room_of(const Snapshot& snapshot);

// Why pods that hold cards stay: reason → how many. For who wonders that no plan is found.
std::map<std::string, int> stays_of(const Snapshot& snapshot, const RaterOf& rater_of);

// Where it stands among Snapshot::pods. not_found: there is none of that name with GPUs.
Result<std::size_t> find_pod(const Snapshot& snapshot, const PodName& name);

// The pod that waits. not_found: there is none of that name with GPUs; conflict: it waits for no
// card; invalid_argument: what it asks makes no sense.
Result<RoomFor> find_waiting(const Snapshot& snapshot, const PodName& name);

}  // namespace tessera::defrag

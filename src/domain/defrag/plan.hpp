// Defragmentation: the fewest moves of movable pods that make a pending pod fit, or free whole
// GPUs.
//
// A move evicts a pod, and its controller creates a replacement that the scheduler places. The plan
// predicts that place with the pod's policy and the scheduler's code (placement/node_price.hpp),
// after the earlier moves and beside the nominees that come before the pod. It does not move a pod
// whose replacement would return to its GPUs. Nor does it move a pod whose replacement's place
// depends on an unknown creation time. Of a pod's other demands on a node, the plan knows the nodes
// that bar it (Barred), and its CPU and memory. Each pod is moved once at most.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "domain/cluster/pod_request.hpp"
#include "domain/cluster/snapshot.hpp"
#include "domain/defrag/replacement.hpp"
#include "domain/placement/node_scorer.hpp"

namespace tessera::defrag {

// Nodes on which a pod may not run; null: none.
using Barred = std::shared_ptr<const std::set<NodeName>>;

struct MovablePod {
    PodRequest request;  // of the replacement; the uid is that of the old pod
    Barred barred;
    // The scorer that places the replacement; null: the best fit of place.hpp.
    std::shared_ptr<const NodeScorer> scorer{};
    Replacement made = Replacement::at_once;
};

struct Cluster {
    std::vector<Snapshot::NodePtr> nodes;
    std::set<NodeName> closed;  // accept no new pods (spec.unschedulable)
    std::vector<MovablePod> movable;
};

// This number of whole GPUs more than now are free.
struct FreeGpus {
    int gpus = 1;
};
// The pod fits on a node.
struct RoomFor {
    PodRequest pod;
    Barred barred;
};
using Goal = std::variant<FreeGpus, RoomFor>;

struct Move {
    PodUid uid;
    PodName pod;
    NodeName node;
    std::vector<int> gpus;  // by their index on the node, ascending
    Bytes size;             // memory on all of them
    NodeName to;            // where its replacement would be placed
    std::vector<int> to_gpus;

    friend bool operator==(const Move&, const Move&) = default;
};

// Free GPU memory for new pods.
struct FreeCapacity {
    int free_gpus = 0;  // usable and without pods
    Bytes largest;      // free on one GPU

    friend bool operator==(const FreeCapacity&, const FreeCapacity&) = default;
};

FreeCapacity free_capacity_of(const Cluster& cluster);

struct Plan {
    std::vector<Move> moves;  // in this order; empty: the goal is reached already
    FreeCapacity before;
    FreeCapacity after;
    NodeName fits_on;     // for RoomFor
    bool fewest = false;  // proven, see make_plan(); else a plan with fewer moves may exist
};

struct NoPlan {
    std::string reason;
};

// The limits of one call. No clock is used: the same input gives the same answer. The times are
// measured in testing/bench/defrag_bench.cpp. If the search for all GPUs at once exceeds a limit,
// the same limits apply again to a search for GPUs one by one.
struct Effort {
    std::size_t steps = 60'000;
    std::size_t steps_per_length = 20'000;
    std::size_t prices = 3'000'000;
};

// The same input gives the same answer.
//
// `fewest` is proven if the number of moves equals a lower bound, or if every shorter sequence was
// tried. It is not proven if a limit of `effort` was reached. With nominees, only the bound proves
// it. The proof covers planned moves: a pod moves once, goes where its policy would place it at
// that moment, and gets none of its present GPUs.
//
// Two kinds of moves are never tried: a replacement that shares a GPU with the old pod (created
// once that is gone, on several GPUs), and one whose place depends on when it is created. Such a
// move might reach the goal where this function finds no plan, or a plan of more moves.
std::variant<Plan, NoPlan> make_plan(const Cluster& cluster, const Goal& goal,
                                     const Effort& effort = {});

}  // namespace tessera::defrag

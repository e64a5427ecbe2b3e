// A live cluster's snapshot in the terms of the placement engine, by engine_terms.hpp: a share in
// bytes is another part of a card on cards of another size.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/sim/workload.hpp"
#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// A pod on nodes whose largest card has the same memory, and that count in the same unit.
struct LiveVariant {
    ModelSet models = kAnyModel;  // of those nodes
    std::vector<Task> tasks;      // one per container; empty: it never fits there
};

struct LivePod {
    std::string name;                   // "namespace/name"
    std::size_t row = 0;                // in ClusterSnapshot::pods
    std::vector<LiveVariant> variants;  // in one order for all pods
    std::vector<Task> learnt;           // on the most common cards that are large enough
    int node = -1;                      // where it is; -1: it waits
    std::int32_t holds_milli = 0;       // while it is there
};

// Pods that are placed together: most often one.
struct LiveGroup {
    std::vector<std::size_t> pods;  // indices of LiveCluster::pods
    int size = 1;                   // so many at least
};

struct LiveCluster {
    std::vector<std::string> node_names;
    std::vector<NodeLoad> now;        // by the snapshot's bytes; nodes that are closed have no room
    std::vector<NodeLoad> seen;       // the same, with the room of those that are closed
    std::vector<NodeLoad> empty;      // without `pods`
    std::vector<LivePod> pods;        // by creation, the snapshot's order among equals
    std::vector<LiveGroup> waiting;   // in the order in which each is complete
    std::vector<LiveGroup> all;       // the same of all pods, those that run too
    std::vector<MixClass> mix;        // of all pods
    std::int64_t capacity_milli = 0;  // of all cards, those that are out of order too
    std::int64_t pinned_milli = 0;    // held by pods that the engine has no terms for
    int cards = 0;
    int unhealthy = 0;      // cards
    int pinned = 0;         // pods that the engine has no terms for: they stay where they are
    int choosing = 0;       // pods with a nodeSelector or node affinity, which nobody looks at here
    bool one_size = false;  // all cards have the same memory, in nodes of the same unit
};

// unsupported: more kinds of cards than the engine tells apart.
Result<LiveCluster> live_cluster(const ClusterSnapshot& snapshot);

// All its pods on empty nodes, for tessera-sim bound: a container is a task of its own, cards that
// are out of order are not there, and one that a pod holds which stays counts whole. unsupported
// where cards have several sizes: what a share in bytes holds is then no one number.
Result<Workload> bound_workload(const LiveCluster& cluster);

}  // namespace tessera

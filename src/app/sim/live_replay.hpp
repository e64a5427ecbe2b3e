// What policies would make of a live cluster: where its waiting pods would go, and what it would
// hold had all its pods been placed anew.
#pragma once

#include <string>
#include <vector>

#include "app/sim/in_parallel.hpp"
#include "app/sim/live_cluster.hpp"
#include "app/sim/replay.hpp"

namespace tessera {

// Percent are of all cards, those that are out of order too.
struct LiveState {
    double held = 0;           // what the pods that have a place ask for
    double fragmentation = 0;  // FGD's F under the mix of the cluster's own pods
    int free_cards = 0;        // wholly, and in order
    int placed = 0;            // pods
    int without_room = 0;      // pods
};

struct LiveRun {
    std::string policy;
    LiveState waiting_placed;   // the pods that run stay where they are
    std::vector<Placed> rooms;  // parallel to LiveReport::waiting; the cards of all containers
    LiveState anew;             // all pods, in the order of their creation, on empty nodes
};

struct LiveReport {
    std::string taken;
    std::size_t nodes = 0;
    int cards = 0;
    int unhealthy = 0;  // cards
    int pinned = 0;     // LiveCluster's
    int choosing = 0;
    int ruled = 0;
    bool tells_rules = true;
    bool tells_links = true;
    SnapshotLeftOut left_out;
    std::vector<std::string> node_names;
    std::vector<std::string> waiting;  // pods, by creation
    LiveState as_is;
    std::vector<LiveRun> runs;  // in the order of the policies
};

struct LiveOptions {
    std::vector<std::string> policies;
    ReplaySeeds seeds;
    int threads = 1;
};

// The same whatever the threads. not_found for a policy; invalid_argument where no node has a card;
// errors of live_cluster().
Result<LiveReport> replay_live(const ClusterSnapshot& snapshot, const LiveOptions& options,
                               const Progress& progress);

}  // namespace tessera

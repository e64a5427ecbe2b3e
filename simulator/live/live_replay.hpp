// What each policy would do with a live cluster: where it would put the pending pods, and how much
// would be allocated if all pods were placed again.
#pragma once

#include <string>
#include <vector>

#include "simulator/common/in_parallel.hpp"
#include "simulator/live/live_cluster.hpp"
#include "simulator/replay/replay.hpp"

namespace tessera {

// Percentages are of all GPUs, including unhealthy ones.
struct LiveState {
    double allocated = 0;      // requests of the pods that have a place
    double fragmentation = 0;  // FGD's F for the mix of the cluster's own pods
    int free_gpus = 0;         // entirely free and healthy
    int placed = 0;            // number of pods
    int without_room = 0;      // number of pods
};

struct LiveRun {
    std::string policy;
    LiveState waiting_placed;    // running pods stay in place
    std::vector<Placed> places;  // parallel to LiveReport::waiting; the GPUs of all containers
    LiveState all_placed;        // all pods, in order of creation, on empty nodes
};

struct LiveReport {
    std::string taken;
    std::size_t nodes = 0;
    int gpus = 0;
    int unhealthy = 0;  // number of GPUs
    int pinned = 0;     // as in LiveCluster
    int choosing = 0;
    int ruled = 0;
    bool tells_rules = true;
    bool tells_links = true;
    DumpOmission left_out;
    std::vector<std::string> node_names;
    std::vector<std::string> waiting;  // pending pods, by creation
    LiveState as_is;
    std::vector<LiveRun> runs;  // in the order of the policies
};

struct LiveOptions {
    std::vector<std::string> policies;
    ReplaySeeds seeds;
    int threads = 1;
};

// The result does not depend on the number of threads. not_found for a policy; invalid_argument if
// no node has a GPU; errors of live_cluster().
Result<LiveReport> replay_live(const ClusterDump& dump, const LiveOptions& options,
                               const Progress& progress);

}  // namespace tessera

// A live cluster's snapshot in the terms of the placement engine (engine_terms.hpp): a share in
// bytes is a different part of a GPU on GPUs of another size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "domain/cluster/pod_request.hpp"
#include "domain/dump/cluster_dump.hpp"
#include "domain/placement/engine/mix.hpp"
#include "domain/placement/engine/node_load.hpp"
#include "domain/placement/place.hpp"
#include "simulator/live/live_gpus.hpp"
#include "simulator/live/live_groups.hpp"
#include "simulator/live/simulated_gpus.hpp"

namespace tessera {

// A pod's tasks on GPUs of one size.
struct LiveVariant {
    // One per container, for nodes that have only such GPUs, of models that the pod allows; empty:
    // the pod never fits on such GPUs.
    std::vector<PlacementTask> tasks;
};

struct LivePod {
    PodRequest request;
    std::size_t row = 0;                // index in ClusterDump::pods
    std::vector<LiveVariant> variants;  // parallel to LiveGpus::sizes()
    std::vector<PlacementTask> learnt;  // in terms of the most common GPUs that are large enough
    bool needs_gpus_looked_at = false;  // its rules distinguish GPUs of one model, or sets of them
    bool is_whole = false;              // requests whole GPUs only, of any size
    int node = -1;                      // its node; -1: the pod is pending
    std::int32_t allocated_milli = 0;   // allocated to it on that node

    [[nodiscard]] const GpuRules& rules() const { return rules_of(request.containers); }
    // False for a pod of a single GPU, which needs no link.
    [[nodiscard]] bool insists_on_link() const;
};

// Free resources of the nodes and their GPUs, with some of the pods in place.
struct LiveScene {
    std::vector<NodeLoad> loads;
    SimulatedGpus gpus;
};

struct LiveCluster {
    std::vector<std::string> node_names;
    LiveGpus gpus_of_nodes;
    LiveScene now;                    // by the snapshot's bytes; closed nodes have no room
    std::vector<NodeLoad> seen;       // the same, with the room of closed nodes
    LiveScene empty;                  // without `pods`
    std::vector<LivePod> pods;        // by creation, ties in the snapshot's order
    LiveGroups groups;                // groups of `pods`
    std::vector<MixClass> mix;        // mix of all pods
    std::int64_t capacity_milli = 0;  // of all GPUs, including unhealthy ones
    std::int64_t pinned_milli = 0;    // allocated to pods that the engine cannot model
    int gpus = 0;
    int unhealthy = 0;        // number of GPUs
    int pinned = 0;           // pods that the engine cannot model: they stay in place
    int choosing = 0;         // pods with a nodeSelector or node affinity, which is ignored here
    int ruled = 0;            // pods with rules on GPUs, which are applied
    bool tells_rules = true;  // ClusterDump::tells_gpu_rules
    bool tells_links = true;  // ClusterDump::tells_links
};

// unsupported: more kinds of GPUs than the engine supports; invalid_argument: rules on GPUs are
// invalid.
Result<LiveCluster> live_cluster(const ClusterDump& dump);

}  // namespace tessera

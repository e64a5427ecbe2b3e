// Nodes and pods of a snapshot as the controller would see them, for engine_terms.hpp.
#pragma once

#include <vector>

#include "domain/cluster/pod_request.hpp"
#include "domain/cluster/snapshot.hpp"
#include "domain/dump/cluster_dump.hpp"

namespace tessera {

// invalid_argument: the rules on GPUs are invalid.
Result<PodRequest> request_of(const DumpPod& pod);

// A pod of the snapshot that is on a node, and its request.
struct LiveAssignedPod {
    const DumpPod* pod = nullptr;
    const PodRequest* request = nullptr;
};

// The node with these pods and their allocations; `model` is the number of its kind.
NodeInfo node_info_of(const DumpNode& node, int model,
                      const std::vector<LiveAssignedPod>& assigned_pods);

}  // namespace tessera

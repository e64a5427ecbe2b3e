// Nodes and pods of a snapshot as the controller would see them, so that engine_terms.hpp applies.
#pragma once

#include <vector>

#include "domain/cluster/pod_ask.hpp"
#include "domain/placement/fleet/node_load.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// The node with these pods on it, which hold what they do there; `model` is the number of its
// cards' kind.
NodeLoad load_with(const SnapshotNode& node, int model,
                   const std::vector<const SnapshotPod*>& pods);

PodAsk ask_of(const SnapshotPod& pod);

}  // namespace tessera

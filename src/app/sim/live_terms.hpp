// Nodes and pods of a snapshot as the controller would see them, so that engine_terms.hpp applies.
#pragma once

#include <vector>

#include "domain/cluster/pod_ask.hpp"
#include "domain/cluster/view.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// invalid_argument: rules on cards that make no sense.
Result<PodAsk> ask_of(const SnapshotPod& pod);

// A pod of the snapshot that is on a node, and what it asked for.
struct LiveTenant {
    const SnapshotPod* pod = nullptr;
    const PodAsk* ask = nullptr;
};

// The node with these pods on it, which hold what they do there; `model` is the number of its
// cards' kind.
NodeView view_of(const SnapshotNode& node, int model, const std::vector<LiveTenant>& tenants);

}  // namespace tessera

// A snapshot's pods and nodes as the subject of a bound: all pods, on empty nodes. An arrival is a
// pod, in order of creation; its request is in terms of the most common GPUs that are large enough.
//
// These simplifications make the bound higher. A pod's containers may be on different nodes. A node
// with different GPUs counts as several nodes, one per kind of GPU, each with all its CPU and
// memory. Rules on models and UUIDs count only if they exclude whole kinds of GPUs. Rules on
// affinity and links, and gangs, do not count. A GPU that a staying pod uses in part counts as
// entirely free.
//
// Unhealthy GPUs, and pods that the engine cannot model (LiveCluster), are left out. A share is in
// thousandths of the GPU that it is on (engine_terms.hpp), rounded up, as in the engine.
#pragma once

#include <memory>
#include <string>

#include "simulator/bound/bound_subject.hpp"
#include "simulator/live/live_cluster.hpp"

namespace tessera {

// `cluster` is made from the same snapshot. invalid_argument: all GPUs are unhealthy. unsupported:
// more kinds of GPUs (model, memory, unit) than the engine supports.
Result<std::unique_ptr<BoundSubject>> live_bound(ClusterDump dump, LiveCluster cluster);

// Which rules on GPUs the bound leaves out, in whole or in part, in one line; they make the bound
// higher. Empty if no pod has such rules.
std::string rules_left_out(const LiveCluster& cluster);

}  // namespace tessera

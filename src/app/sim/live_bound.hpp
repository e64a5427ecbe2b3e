// A snapshot's pods and nodes as a bound takes them (tessera-sim bound).
#pragma once

#include "app/sim/live_cluster.hpp"
#include "app/sim/workload.hpp"

namespace tessera {

// All its pods on empty nodes: a container is a task of its own, cards that are out of order are
// not there, and one that a pod holds which stays counts whole. unsupported where cards have
// several sizes: what a share in bytes holds is then no one number.
Result<Workload> bound_workload(const LiveCluster& cluster);

}  // namespace tessera

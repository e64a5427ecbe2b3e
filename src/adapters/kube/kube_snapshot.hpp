// Reads a cluster for `tessera snapshot`: its nodes and pods, with the rights of its user. Writes
// nothing.
#pragma once

#include "adapters/http/http.hpp"
#include "domain/snapshot/cluster_snapshot.hpp"

namespace tessera {

// From the API server itself; ClusterSnapshot::taken is left to the caller. Errors:
// permission_denied with the right that lacks, unavailable.
Result<ClusterSnapshot> read_cluster_snapshot(const HttpEndpoint& endpoint);

}  // namespace tessera

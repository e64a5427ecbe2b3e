// Reads a cluster for `tessera snapshot`: its nodes and pods, with the permissions of its user.
// Writes nothing.
#pragma once

#include "adapters/http/http.hpp"
#include "domain/dump/cluster_dump.hpp"

namespace tessera {

// Reads from the API server itself; the caller sets ClusterDump::taken. Errors: permission_denied
// with the missing permission; unavailable.
Result<ClusterDump> read_cluster_dump(HttpClient& http);

}  // namespace tessera

// The cluster as placement sees it, read from the API server itself: no cache, nothing written.
#pragma once

#include "adapters/http/http.hpp"
#include "domain/defrag/snapshot.hpp"

namespace tessera {

// Without the budgets. permission_denied names the right that lacks.
Result<defrag::Snapshot> read_cluster(HttpClient& http);

}  // namespace tessera

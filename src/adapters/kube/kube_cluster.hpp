// The cluster as placement sees it, read from the API server itself: no cache, nothing written.
#pragma once

#include <optional>
#include <string>

#include "adapters/http/http.hpp"
#include "domain/defrag/snapshot.hpp"

namespace tessera {

// Without the budgets. permission_denied names the right that lacks.
Result<defrag::Snapshot> read_cluster(HttpClient& http);

// The --policy of the Deployment tessera-controller in that namespace; where it has none, the
// controller's default. Nothing where the Deployment is not there or may not be read.
std::optional<std::string> read_cluster_policy(HttpClient& http, const std::string& space);

}  // namespace tessera

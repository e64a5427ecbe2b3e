// The cluster as input for placement, read from the API server itself, without a cache. Writes
// nothing.
#pragma once

#include <optional>
#include <string>

#include "adapters/http/http.hpp"
#include "domain/defrag/cluster_objects.hpp"
#include "wire/kube/doctor_json.hpp"

namespace tessera {

// Reads everything but the budgets. permission_denied names the missing permission.
Result<defrag::ClusterObjects> read_cluster(HttpClient& http);

// The flags of the Deployment tessera-controller in that namespace. Nothing if the Deployment does
// not exist or may not be read.
std::optional<ControllerFlags> read_controller(HttpClient& http, const std::string& ns);

}  // namespace tessera

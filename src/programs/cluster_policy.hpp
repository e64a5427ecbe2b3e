// By which policy the controller places pods, for who foretells it.
#pragma once

#include <string>

#include "adapters/http/http.hpp"
#include "base/result.hpp"

namespace tessera {

struct ClusterPolicy {
    std::string name;         // as fleet_policies() has it
    bool is_assumed = false;  // nobody says so (assumed_policy_text)
};

// Whether there is such a policy, before anybody is asked: invalid_argument. Empty: no --policy.
Result<> check_policy(const std::string& said);

// That of --policy (`said`), else that of the controller's Deployment; where this may not be read,
// the controller's default. invalid_argument: there is none of that name.
Result<ClusterPolicy> cluster_policy(HttpClient& http, const std::string& said);

}  // namespace tessera

// By which policy the controller places pods, for who foretells it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/http/http.hpp"
#include "base/result.hpp"

namespace tessera {

struct ClusterPolicy {
    std::string name;         // as fleet_policies() has it
    bool is_assumed = false;  // nobody says so (assumed_policy_text)
};

// What a command says of it.
struct PolicyOptions {
    std::string policy;                    // empty: what the controller's Deployment says
    std::string space = "tessera-system";  // of that Deployment
};

// --policy and --controller-namespace, for a command that foretells what the controller does.
void add_policy_options(CLI::App& command, PolicyOptions& options);

// Whether there is such a policy, before anybody is asked: invalid_argument. Empty: no --policy.
Result<> check_policy(const std::string& said);

// That of --policy, else that of the controller's Deployment; where this may not be read, the
// controller's default. invalid_argument: there is none of that name.
Result<ClusterPolicy> cluster_policy(HttpClient& http, const PolicyOptions& options);

}  // namespace tessera

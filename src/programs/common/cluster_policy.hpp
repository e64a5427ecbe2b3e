// The policy by which the controller places pods, for commands that predict placements.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "wire/kube/doctor_json.hpp"

namespace tessera {

struct ClusterPolicy {
    std::string name;         // a name of placement_policies()
    bool is_assumed = false;  // the policy could not be read (assumed_policy_text)
};

// The policy options of a command.
struct PolicyOptions {
    std::string policy;                 // empty: read it from the controller's Deployment
    std::string ns = "tessera-system";  // namespace of that Deployment
};

// Adds --policy and --tessera-namespace, for a command that predicts what the controller does.
void add_policy_options(CLI::App& command, PolicyOptions& options);

// Checks the name of a policy without contacting the cluster. Empty (no --policy) is valid.
// invalid_argument: there is no such policy.
Result<> check_policy(const std::string& said);

// The policy of --policy, else the one in the controller's Deployment (read_controller). Without
// both, the controller's default, marked as assumed. invalid_argument: there is no policy of that
// name.
Result<ClusterPolicy> cluster_policy(const std::optional<ControllerFlags>& controller,
                                     const PolicyOptions& options);

}  // namespace tessera

#include "programs/common/cluster_policy.hpp"

#include "app/scheduler/scoring/policy_set.hpp"
#include "domain/placement/engine/policy.hpp"

namespace tessera {

Result<> check_policy(const std::string& said) {
    if (said.empty()) return {};
    const auto row = find_policy_option(said);
    if (!row) return fail(row.error().in("--policy"));
    return {};
}

void add_policy_options(CLI::App& command, PolicyOptions& options) {
    command.add_option("--policy", options.policy,
                       policies_help() + "; default: the policy in the controller's Deployment");
    command.add_option("--tessera-namespace", options.ns, "namespace where Tessera runs")
        ->capture_default_str();
}

Result<ClusterPolicy> cluster_policy(const std::optional<ControllerFlags>& controller,
                                     const PolicyOptions& options) {
    const bool is_assumed = options.policy.empty() && !controller;
    TRY(const PlacementPolicyRow* row,
        find_policy_option(!options.policy.empty() ? options.policy
                           : controller            ? controller->policy
                                                   : std::string(kBestFitInBytes)));
    return ClusterPolicy{std::string(row->name), is_assumed};
}

}  // namespace tessera

#include "programs/cluster_policy.hpp"

#include <optional>

#include "adapters/kube/kube_cluster.hpp"
#include "app/scheduler/placements.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

Result<> check_policy(const std::string& said) {
    if (said.empty()) return {};
    const auto row = find_policy_option(said);
    if (!row) return fail(row.error().in("--policy"));
    return {};
}

void add_policy_options(CLI::App& command, PolicyOptions& options) {
    command.add_option("--policy", options.policy,
                       policies_help() + "; by default what the controller's Deployment says");
    command.add_option("--controller-namespace", options.space, "where Tessera runs")
        ->capture_default_str();
}

Result<ClusterPolicy> cluster_policy(HttpClient& http, const PolicyOptions& options) {
    const auto told = options.policy.empty() ? read_cluster_policy(http, options.space)
                                             : std::optional(options.policy);
    TRY(const FleetPolicyRow* row, find_policy_option(told.value_or(std::string(kBestFitInBytes))));
    return ClusterPolicy{std::string(row->name), !told};
}

}  // namespace tessera

#include "programs/common/cluster_policy.hpp"

#include <optional>

#include "adapters/kube/kube_cluster.hpp"
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

Result<ClusterPolicy> cluster_policy(HttpClient& http, const PolicyOptions& options) {
    const auto reported = options.policy.empty() ? read_cluster_policy(http, options.ns)
                                                 : std::optional(options.policy);
    TRY(const PlacementPolicyRow* row,
        find_policy_option(reported.value_or(std::string(kBestFitInBytes))));
    return ClusterPolicy{std::string(row->name), !reported};
}

}  // namespace tessera

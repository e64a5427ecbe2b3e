#include "programs/cluster_policy.hpp"

#include <optional>

#include "adapters/kube/kube_cluster.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

Result<> check_policy(const std::string& said) {
    if (said.empty()) return {};
    const auto row = find_policy_option(said);
    if (!row) return fail(row.error().in("--policy"));
    return {};
}

Result<ClusterPolicy> cluster_policy(HttpClient& http, const std::string& said) {
    const auto told =
        said.empty() ? read_cluster_policy(http, "tessera-system") : std::optional(said);
    TRY(const FleetPolicyRow* row, find_policy_option(told.value_or(std::string(kBestFitInBytes))));
    return ClusterPolicy{std::string(row->name), !told};
}

}  // namespace tessera

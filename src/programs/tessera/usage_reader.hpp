// The GPUs and the pods that use them, read from the API server for the commands that show them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "adapters/kubeconfig/kubeconfig.hpp"
#include "app/cli/usage.hpp"
#include "domain/usage/cluster_facts.hpp"

namespace tessera {

struct UsageOptions {
    KubeConfigOptions kube;
    std::string node;    // empty: all
    std::string output;  // empty, "json", "yaml" or "wide"
};

// An error says what the user can do.
Result<std::vector<NodeUsage>> load_usage(HttpClient& api, const UsageOptions& options);

// All nodes and pods, with what the views show beside GPU shares. Errors as above.
Result<ClusterFacts> load_cluster(HttpClient& api);

// Sets NodeUsage::agent_ready, for commands that show it. Errors as above.
Result<> load_agents(HttpClient& api, std::span<NodeUsage> nodes);

// Says on stderr on which nodes no agent is ready.
void print_agents_missing(std::span<const NodeUsage> nodes);

}  // namespace tessera

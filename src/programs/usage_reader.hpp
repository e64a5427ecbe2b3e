// The cards and who holds them, read from the API server for the commands that show them.
#pragma once

#include <string>
#include <vector>

#include "adapters/kube/kubeconfig.hpp"
#include "app/cli/usage.hpp"

namespace tessera {

struct UsageOptions {
    KubeConfigOptions kube;
    std::string node;    // empty: all
    std::string output;  // empty, "json", "yaml" or "wide"
};

// An error says what a person can do about it.
Result<std::vector<NodeUsage>> load_usage(const UsageOptions& options);

}  // namespace tessera

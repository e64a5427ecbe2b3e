// tessera explain.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/kube/kubeconfig.hpp"
#include "programs/cluster_policy.hpp"

namespace tessera {

struct ExplainOptions {
    KubeConfigOptions kube;
    std::string pod;
    std::string space;
    PolicyOptions policy;
    std::string output;  // empty or "json"
    bool all = false;
};

// The command, whose arguments go to `options`; both outlive parsing.
CLI::App* add_explain(CLI::App& app, ExplainOptions& options);

// Returns the exit status.
int run_explain(const ExplainOptions& options);

}  // namespace tessera

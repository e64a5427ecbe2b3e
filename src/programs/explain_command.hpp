// tessera explain.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/kube/kubeconfig.hpp"

namespace tessera {

struct ExplainOptions {
    KubeConfigOptions kube;
    std::string pod;
    std::string space;
    std::string policy;  // empty: the cluster's
    std::string output;  // empty or "json"
    bool all = false;
};

// The command, whose arguments go to `options`; both outlive parsing.
CLI::App* add_explain(CLI::App& app, ExplainOptions& options);

// Returns the exit status.
int run_explain(const ExplainOptions& options);

}  // namespace tessera

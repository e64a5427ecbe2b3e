// tessera defrag.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/kube/kubeconfig.hpp"
#include "programs/cluster_policy.hpp"

namespace tessera {

struct DefragOptions {
    KubeConfigOptions kube;
    std::string pod;  // empty: whole cards
    std::string space;
    std::string output;  // empty or "json"
    PolicyOptions policy;
    int cards = 1;
    int timeout_s = 120;
    bool apply = false;
    bool plan = false;
    bool yes = false;
};

// The command, whose arguments go to `options`; both outlive parsing.
CLI::App* add_defrag(CLI::App& app, DefragOptions& options);

// Shows the plan, and carries it out where that is asked for and, on a terminal, confirmed. Returns
// the exit status: that of conflict where there is no plan.
int run_defrag(const DefragOptions& options);

}  // namespace tessera

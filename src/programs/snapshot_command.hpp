// tessera snapshot.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/kube/kubeconfig.hpp"

namespace tessera {

struct SnapshotOptions {
    KubeConfigOptions kube;
    std::string file;  // empty: to the standard output
    bool anonymous = false;
};

// The command, whose arguments go to `options`; both outlive parsing.
CLI::App* add_snapshot(CLI::App& app, SnapshotOptions& options);

// Reads the cluster and writes the file. Returns the exit status.
int run_snapshot(const SnapshotOptions& options);

}  // namespace tessera

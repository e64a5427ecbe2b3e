// tessera resize.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "adapters/kube/kubeconfig.hpp"

namespace tessera {

struct ResizeOptions {
    KubeConfigOptions kube;
    std::string pod;
    std::string space;
    std::string container;
    std::string memory;
    int cores = -1;    // none was given
    int ceiling = -1;  // none was given
    int timeout_s = 30;
};

// The command, whose arguments go to `options`; both outlive parsing.
CLI::App* add_resize(CLI::App& app, ResizeOptions& options);

// Says what became of it; returns the exit status.
int run_resize(const ResizeOptions& options);

}  // namespace tessera

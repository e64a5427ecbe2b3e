// `tessera doctor`.
#pragma once

#include <string>

#include "adapters/kube/kubeconfig.hpp"

namespace tessera {

// Reads the cluster, prints what is found, and returns the exit status: 1 when a check failed, that
// of the error where the kubeconfig is of no use. `output`: empty or "json".
int run_doctor(const KubeConfigOptions& kube, const std::string& space, const std::string& output);

}  // namespace tessera

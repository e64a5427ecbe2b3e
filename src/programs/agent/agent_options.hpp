// What the agent's components take from a checked configuration.
#pragma once

#include "adapters/os/cdi_folder.hpp"
#include "app/agent/inventory/gpu_monitor.hpp"
#include "domain/container_start/identity.hpp"
#include "domain/container_start/start_rules.hpp"
#include "ports/kube/kube_api.hpp"
#include "programs/agent/agent_config.hpp"
#include "programs/agent/share_enforcement.hpp"

namespace tessera {

CdiFolderOptions cdi_options(const Config& config);
StartRules start_rules(const Config& config);
// `dialects` and `cdi` outlive the options.
GpuMonitorOptions monitor_options(const Config& config, Identity identity, const Dialects& dialects,
                                  CdiStore& cdi);
// Resolves auto by the runtime's NRI socket, and by the runtime that the Node shows. If the API
// server does not answer, the socket decides.
Identity identity_of(const Config& config, KubeApi& kube);

EnforcementOptions enforcement_options(const Config& config, Identity identity);

}  // namespace tessera

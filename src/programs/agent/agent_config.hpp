// The agent's configuration, and what its components take from it.
#pragma once

#include <array>
#include <set>
#include <string>

#include "adapters/os/cdi_folder.hpp"
#include "app/agent/inventory/gpu_monitor.hpp"
#include "domain/container_start/identity.hpp"
#include "domain/container_start/start_rules.hpp"
#include "ports/kube/kube_api.hpp"
#include "programs/common/config.hpp"
#include "programs/common/run_program.hpp"

namespace tessera {

#define CONFIG_TABLE "programs/agent/agent.def"
#include "programs/common/typed_config.inc"
#undef CONFIG_TABLE

// The first fault, with the name of its row and the fix; also of the configurations for single
// nodes.
Result<> check_config(const ConfigValues& values);

// Of a checked configuration: the names in node_configs, and the values with those of one name
// before all others. An empty name: no change.
std::set<std::string> node_config_names(const ConfigValues& values);
Result<ConfigValues> with_node_config(const ConfigValues& values, const std::string& name);

CdiFolderOptions cdi_options(const Config& config);
StartRules start_rules(const Config& config);
// Of a checked configuration. `dialects` and `cdi` outlive the options.
GpuMonitorOptions monitor_options(const Config& config, Identity identity, const Dialects& dialects,
                                  CdiStore& cdi);
// Resolves auto by the runtime's NRI socket, and by the runtime that the Node shows. If the API
// server does not answer, the socket decides.
Identity identity_of(const Config& config, KubeApi& kube);

}  // namespace tessera

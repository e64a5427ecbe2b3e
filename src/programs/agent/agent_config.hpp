// The agent's configuration, and what its components take from it.
#pragma once

#include <array>
#include <string>

#include "domain/container_start/identity.hpp"
#include "domain/container_start/start_rules.hpp"
#include "ports/kube/kube_api.hpp"
#include "programs/common/config.hpp"
#include "programs/common/run_program.hpp"

namespace tessera {

#define CONFIG_TABLE "programs/agent/agent.def"
#include "programs/common/typed_config.inc"
#undef CONFIG_TABLE

// The first fault, with the name of its row and the fix.
Result<> check_config(const ConfigValues& values);

StartRules start_rules(const Config& config);
// Resolves auto by the runtime's NRI socket, and by the runtime that the Node shows. If the API
// server does not answer, the socket decides.
Identity identity_of(const Config& config, KubeApi& kube);

}  // namespace tessera

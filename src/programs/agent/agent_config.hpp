// The agent's configuration.
#pragma once

#include <array>
#include <set>
#include <string>

#include "programs/common/config.hpp"
#include "programs/common/ledger_server.hpp"
#include "programs/common/run_program.hpp"

namespace tessera {

#define CONFIG_TABLE "programs/agent/agent.def"
#include "programs/common/typed_config.inc"
#undef CONFIG_TABLE

// The first fault, with the name of its row and the fix; also of the configurations for single
// nodes.
Result<> check_config(const ConfigValues& values);

LedgerServer ledger_of(const Config& config);

// Of a checked configuration: the names in node_configs, and the values with those of one name
// before all others. An empty name: no change.
std::set<std::string> node_config_names(const ConfigValues& values);
Result<ConfigValues> with_node_config(const ConfigValues& values, const std::string& name);

}  // namespace tessera

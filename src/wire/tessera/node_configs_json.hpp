// The agent's configurations for single nodes, by their names (--node-configs):
//
//     {"a100": {"slots_per_gpu": 8, "excluded_gpus": [0, "GPU-…"]}}
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/string_map.hpp"

namespace tessera {

// Values by key, as in the agent's configuration file; a list has its entries with commas.
using NodeConfigs = std::map<std::string, StringMap, std::less<>>;

// The keys that a configuration may have. All others concern the agent's pod, which is the same on
// all nodes.
std::string node_config_keys();

// An empty text is no configuration. invalid_argument if the text is not such an object, a name is
// not a label's value, or a key is unknown or appears twice. Values are not checked.
Result<NodeConfigs> read_node_configs(std::string_view json);

std::set<std::string> names_of(const NodeConfigs& configs);

}  // namespace tessera

// Labels of Nodes with GPUs: those that an administrator sets, and those that the agent sets for
// nodeSelector and nodeAffinity.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/string_map.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// "true": an agent runs on the node (nodeSelector of its DaemonSet).
inline constexpr std::string_view kAgentLabel = "tessera.dev/agent";
// The name of the agent's configuration on this node, of those in --node-configs.
inline constexpr std::string_view kAgentConfigLabel = "tessera.dev/agent-config";
// The key of the taint with which new nodes register, unless the chart has another one.
inline constexpr std::string_view kStartupTaint = "tessera.dev/agent-not-ready";
inline constexpr std::string_view kGpuCountLabel = "tessera.dev/gpu-count";
// The model (base/label_value.hpp); "mixed" if the node has several.
inline constexpr std::string_view kGpuModelLabel = "tessera.dev/gpu-model";
// MiB of a GPU, the smallest of the node, as nvidia.com/gpu.memory of NVIDIA's GPU feature
// discovery.
inline constexpr std::string_view kGpuMemoryLabel = "tessera.dev/gpu-memory";

// "tessera.dev/agent-config=x names no configuration; there are a, b". `names`: of all
// configurations.
std::string unknown_config_text(std::string_view label, const std::set<std::string>& names);

// The labels that the agent sets. An empty value stands for no label. GPUs without a model or
// memory size do not count for these.
StringMap node_labels(const NodeInventory& node);

}  // namespace tessera

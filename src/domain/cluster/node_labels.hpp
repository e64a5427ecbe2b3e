// Labels that an agent puts on its Node, for nodeSelector and nodeAffinity: what GPUs it has.
#pragma once

#include <string_view>

#include "base/string_map.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

inline constexpr std::string_view kGpuCountLabel = "tessera.dev/gpu-count";
// The model, as the value of a label; "mixed" if the node has several.
inline constexpr std::string_view kGpuModelLabel = "tessera.dev/gpu-model";
// MiB of a GPU, the smallest of the node, as nvidia.com/gpu.memory of NVIDIA's GPU feature
// discovery.
inline constexpr std::string_view kGpuMemoryLabel = "tessera.dev/gpu-memory";

// An empty value stands for no label. GPUs without a model or memory size do not count for these.
StringMap node_labels(const NodeInventory& node);

// `text` as the value of a label (Kubernetes: labels and selectors): other characters become '-'.
std::string label_value(std::string_view text);

}  // namespace tessera

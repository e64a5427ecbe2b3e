// Converts nodes and pods to the placement engine's unit (engine/node_load.hpp): thousandths of a
// GPU. Of memory and compute, the larger request and the smaller free amount count. Requests are
// rounded up and free amounts down, so what fits in thousandths fits in bytes. The reverse is not
// true: a share may fit that the engine considers too large (NodeScorer).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/cluster/assigned_pod.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_request.hpp"
#include "domain/placement/engine/node_load.hpp"

namespace tessera {

struct NodeInfo;

// Thousandths of a GPU that a share takes, at most kMilliPerGpu.
std::int16_t milli_of(Bytes memory, Percent cores, Bytes gpu);
// Free thousandths for a pod that uses MPS, or for one that does not; a GPU with a pod on it is
// never completely free.
std::int16_t free_milli(const GpuState& gpu, bool uses_mps = false);

// The load of a node for pods that do not use MPS, without the member `load`; `used` is what all
// its pods take of CPU and memory.
NodeLoad load_of(const NodeInfo& node, int model, const HostRequest& used);
// The same load with these GPUs in place of its own, for what-if questions.
NodeLoad with_gpus(NodeLoad load, std::span<const GpuState> gpus, bool uses_mps = false);

// One task per container, for GPUs of that capacity. The pod's CPU and memory are in the first
// task. Nothing if the engine cannot express the pod: a share larger than the GPU, init containers
// (they do not run at the same time), or more GPUs than a node may have.
std::optional<std::vector<PlacementTask>> tasks_of(const PodRequest& pod, MemoryUnit unit,
                                                   Bytes gpu);

}  // namespace tessera

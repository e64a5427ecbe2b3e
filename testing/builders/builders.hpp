// Short ways to write nodes, pods and requests in tests. Every default is a plain, valid value, so
// a test sets only the values that it is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/cluster/snapshot.hpp"
#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"

namespace tessera::build {

using Limits = std::vector<std::pair<std::string, std::string>>;

// UUID "GPU-<node>-<index>", all of `memory` free for shares.
Gpu gpu(std::string_view node, int index, Bytes memory);
// A node with an agent and `count` equal GPUs.
NodeInventory node(std::string_view name, int count, Bytes each);
// A node with these GPUs, in any condition, and otherwise with default values.
NodeInfo node_info(std::span<const GpuState> gpus, MemoryUnit unit = MemoryUnit::gib);
// A node of gpushare's device plugin: GPUs "index:N", of which only the sums are known.
NodeInventory legacy_node(std::string_view name, int count, std::int64_t units_each);

ContainerSpec container(std::string_view name, Limits limits,
                        ContainerKind kind = ContainerKind::app);
// One container "main" that requests `units` of aliyun.com/gpu-mem.
std::vector<ContainerSpec> aliyun(std::int64_t units);
// One container "main" that requests `memory` on each of `gpus` GPUs.
std::vector<ContainerSpec> native(Bytes memory, int gpus = 1);
// One container "main" that requests whole GPUs.
std::vector<ContainerSpec> whole(int gpus = 1);
// The request of these containers, which must be valid.
ContainerRequests request(const std::vector<ContainerSpec>& containers);

// Namespace "default", uid "uid-<name>", on no node.
PodInfo pod(std::string_view name, std::vector<ContainerSpec> containers);
// Gives the pod these containers, and the request that they make.
void set_containers(PodInfo& pod, std::vector<ContainerSpec> containers,
                    std::optional<std::string> cores_limit = {});
// The request of a pod, which must be valid.
PodRequest request(const PodInfo& pod);
// The same pod as the API server shows it after it is bound with this allocation.
PodInfo bound(PodInfo pod, const Allocation& allocation);
// The same pod bound to `node` by gpushare's own scheduler: GPU index and units.
PodInfo legacy_bound(PodInfo pod, std::string_view node, int index, std::int64_t units);

// One container "main" with these shares.
Allocation allocation(const PodInfo& pod, std::string_view node, std::vector<GpuShare> shares);

}  // namespace tessera::build

// Short ways to write nodes, pods and requests in tests. Every default is a plain, valid value; a
// test names only what it is about.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "domain/cluster/view.hpp"
#include "domain/request/dialect.hpp"

namespace tessera::build {

using Limits = std::vector<std::pair<std::string, std::string>>;

// UUID "GPU-<node>-<index>", all of `memory` free for shares.
Gpu gpu(std::string_view node, int index, Bytes memory);
// A node of an agent with `count` equal cards.
NodeInventory node(std::string_view name, int count, Bytes each);
// Cards in any condition, and no more of their node.
NodeView node_view(std::span<const Card> cards, MemoryUnit unit = MemoryUnit::gib);
// A node of gpushare's device plugin: cards "index:N", known by their sums.
NodeInventory legacy_node(std::string_view name, int count, std::int64_t units_each);

ContainerSpec container(std::string_view name, Limits limits,
                        ContainerKind kind = ContainerKind::app);
// One container "main" that asks for `units` of aliyun.com/gpu-mem.
std::vector<ContainerSpec> aliyun(std::int64_t units);
// One container "main" that asks for `memory` on each of `gpus` cards.
std::vector<ContainerSpec> native(Bytes memory, int gpus = 1);
// One container "main" that asks for whole cards.
std::vector<ContainerSpec> whole(int gpus = 1);
// The request of containers that must be valid.
PodRequest request(const std::vector<ContainerSpec>& containers);

// Namespace "default", uid "uid-<name>", on no node.
PodFacts pod(std::string_view name, std::vector<ContainerSpec> containers);
// What a pod asks, which must be valid.
PodAsk ask(const PodFacts& pod);
// The same pod as the API server shows it once bound with this allocation.
PodFacts bound(PodFacts pod, const Allocation& allocation);
// The same pod bound to `node` by gpushare's own scheduler: card index and units.
PodFacts legacy_bound(PodFacts pod, std::string_view node, int index, std::int64_t units);

// One container "main" with these shares.
Allocation allocation(const PodFacts& pod, std::string_view node, std::vector<GpuShare> shares);

}  // namespace tessera::build

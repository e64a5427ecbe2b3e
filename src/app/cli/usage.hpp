// The data of the inspect and top commands, computed from the API's objects alone. It is available
// even if no daemon of Tessera's answers.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_info.hpp"

namespace tessera {

// One pod on one node. Amounts in Bytes are memory.
struct PodUsage {
    PodUid uid;
    PodName name;
    std::vector<Bytes> on_gpu;          // parallel to NodeUsage::inventory.gpus
    std::vector<Percent> cores_on_gpu;  // parallel to on_gpu
    Bytes elsewhere;                    // on GPUs that the node does not publish
    Bytes pending;                      // requested, and no GPU is named
};

struct NodeUsage {
    NodeInventory inventory;
    std::vector<PodUsage> pods;  // by name, then namespace
    // A pod of an agent is ready on the node. If not, `inventory` is the last report of an agent,
    // and what the GPUs are now is unknown.
    bool agent_ready = true;

    // Includes memory above lowered limits, which is not free for others.
    [[nodiscard]] Bytes allocated(std::size_t gpu) const;
    [[nodiscard]] Percent allocated_cores(std::size_t gpu) const;
    [[nodiscard]] Bytes pending() const;
};

// The nodes that have GPUs, by name, and their pods that request GPUs. An allocation counts as it
// does for the controller: only the pod's own, made for the node that it is on.
std::vector<NodeUsage> usage_of(std::vector<NodeInventory> nodes, std::span<const PodInfo> pods);

// Sets NodeUsage::agent_ready. A node that gpushare's plugin serves needs no agent.
void set_agents(std::span<NodeUsage> nodes, const std::set<NodeName>& with_ready_agent);

// A sentence without a full stop on the nodes without a ready agent; empty if there is none.
std::string agents_text(std::span<const NodeUsage> nodes);

}  // namespace tessera

// The data of the inspect and top commands, computed from the API's objects alone. It is available
// even if no daemon of Tessera's answers.
#pragma once

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

    // Includes memory above lowered limits, which is not free for others.
    [[nodiscard]] Bytes allocated(std::size_t gpu) const;
    [[nodiscard]] Percent allocated_cores(std::size_t gpu) const;
    [[nodiscard]] Bytes pending() const;
};

// The nodes that have GPUs, by name, and their pods that request GPUs. An allocation counts as it
// does for the controller: only the pod's own, made for the node that it is on.
std::vector<NodeUsage> usage_of(std::vector<NodeInventory> nodes, std::span<const PodInfo> pods);

}  // namespace tessera

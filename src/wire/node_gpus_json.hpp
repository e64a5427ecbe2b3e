// The node annotation tessera.dev/gpus: what the agent publishes of its cards.
// Grammar and history: docs/formats/node-gpus.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera {

inline constexpr int kNodeGpusVersion = 1;

struct NodeGpus {
    MemoryUnit unit = MemoryUnit::gib;
    std::string identity;  // how the agent knows which container it completes: "nri" or "kubelet"
    Holding shares = Holding::none;
    std::vector<Gpu> gpus;
    std::string enforcement_fault;  // as NodeInventory has them
    std::string handover_fault;

    friend bool operator==(const NodeGpus&, const NodeGpus&) = default;
};

std::string write_node_gpus(const NodeGpus& gpus);

// invalid_argument for broken text (duplicate UUIDs included), unsupported for a newer version.
Result<NodeGpus> read_node_gpus(std::string_view text);

}  // namespace tessera

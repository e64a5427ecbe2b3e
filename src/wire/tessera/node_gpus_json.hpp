// The node annotation tessera.dev/gpus, in which the agent publishes its GPUs. Grammar and history:
// docs/formats/node-gpus.md.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "domain/cluster/node.hpp"

namespace tessera {

inline constexpr int kNodeGpusVersion = 1;
inline constexpr std::size_t kMostMpsOffenders = 64;  // of a GPU

struct NodeGpusReport {
    MemoryUnit unit = MemoryUnit::gib;
    std::string identity;  // how the agent identifies a starting container: "nri" or "kubelet"
    EnforcementMode shares = EnforcementMode::none;
    std::vector<Gpu> gpus;
    std::string enforcement_fault;  // as in NodeInventory
    std::string injection_fault;

    friend bool operator==(const NodeGpusReport&, const NodeGpusReport&) = default;
};

std::string write_node_gpus(const NodeGpusReport& gpus);

// invalid_argument for broken text (duplicate UUIDs included), unsupported for a newer version.
Result<NodeGpusReport> read_node_gpus(std::string_view text);

}  // namespace tessera

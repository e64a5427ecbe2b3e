// Removes nodes from a cluster, for what-if questions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "simulator/workload/workload.hpp"

namespace tessera {

// Nodes to remove: `count` random nodes of a model, or the node of that name.
struct FewerNodes {
    int count = 0;     // 0: the node of that name
    std::string name;  // of the model, or of the node

    friend bool operator==(const FewerNodes&, const FewerNodes&) = default;
};

// Parses "20 T4" or "openb-node-0007", with or without leading spaces. invalid_argument for other
// texts.
Result<FewerNodes> read_fewer_nodes(std::string_view text);

// Removes the nodes; the others keep their order. Counts add to named nodes and to other counts, in
// any order of the list. The seed selects the nodes of a model; a larger count includes the nodes
// of a smaller one. not_found for an unknown model or node; invalid_argument if there are too few
// nodes.
Result<> take_out(Workload& workload, std::span<const FewerNodes> fewer, std::uint64_t seed);

}  // namespace tessera

// What would be with fewer nodes: takes some of them out of a cluster, for what-if questions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "app/sim/workload.hpp"

namespace tessera {

// Nodes to do without: `count` of a model, whichever they are, or the one of that name.
struct FewerNodes {
    int count = 0;     // 0: the node of that name
    std::string name;  // of the model, or of the node

    friend bool operator==(const FewerNodes&, const FewerNodes&) = default;
};

// "20 T4" or "openb-node-0007", after spaces or none. invalid_argument when it is neither.
Result<FewerNodes> read_fewer_nodes(std::string_view text);

// The cluster without them; the others keep their order. Those of a count are others than those of
// a name or of another count, in whatever order they are told. Which of a model go is drawn by the
// seed: of two counts the larger takes those of the smaller too. not_found for a model or a node
// that is not there, invalid_argument when there are not that many.
Result<> take_out(Workload& workload, std::span<const FewerNodes> fewer, std::uint64_t seed);

}  // namespace tessera

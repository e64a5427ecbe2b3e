// The taints of a Node, and its allocatable amounts.
#pragma once

#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/string_map.hpp"

namespace tessera {

struct TaintedNode {
    std::vector<std::string> taints;  // their keys, in the Node's order; a key may repeat
    StringMap allocatable;            // amounts by resource, as the Node writes them
};

class NodeTaints {
  public:
    virtual ~NodeTaints() = default;

    virtual Result<TaintedNode> tainted_node(const NodeName& node) = 0;
    // Removes every taint with this key from the Node that was read as `seen`, and no other taint.
    // An error if the taints have changed in between: read the Node again.
    virtual Result<> remove_taints(const NodeName& node, const TaintedNode& seen,
                                   const std::string& key) = 0;
};

}  // namespace tessera

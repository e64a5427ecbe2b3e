// Reads and removes what agents have published on Node objects. One thread; each call ends by its
// own deadline.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/dialect/published_node.hpp"

namespace tessera {

class PublishedNodes {
  public:
    virtual ~PublishedNodes() = default;

    // The nodes of agents' pods that have not ended.
    virtual Result<std::vector<NodeName>> nodes_with_agents() = 0;
    // The Nodes with anything that an agent published.
    virtual Result<std::vector<PublishedNode>> list() = 0;
    // Can be repeated. A Node that is gone is no error.
    virtual Result<> remove(const PublishedNode& node) = 0;
};

}  // namespace tessera

// The cluster as `tessera migrate gpushare` reads and changes it. One thread; each call ends by its
// own deadline.
#pragma once

#include "base/result.hpp"
#include "domain/migration/facts.hpp"

namespace tessera {

class MigrationCluster {
  public:
    virtual ~MigrationCluster() = default;

    virtual Result<migration::Facts> read() = 0;
    // The Node and its pods. not_found if it is gone. The pods are read after the Node, so a pod
    // that is missing had ended when the Node was as it is returned, or was created later.
    virtual Result<migration::Node> read_node(const NodeName& name) = 0;
    // conflict if the Node is not `node.version` any more. Nothing was written then.
    virtual Result<> write(const migration::Node& node, const migration::NodeChange& change) = 0;
};

}  // namespace tessera

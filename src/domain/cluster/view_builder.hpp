// Makes the views that readers get, one after the other: each shares with the last what did not
// change, so that one node's change costs a copy of the rows and no more.
#pragma once

#include <memory>
#include <vector>

#include "domain/cluster/view.hpp"

namespace tessera {

class ViewBuilder {
  public:
    // All nodes, ascending by name.
    void set_nodes(std::vector<NodeView> nodes);
    // A node that was among the last ones; no effect on another. False when it has another number
    // of cards than before: then only set_nodes() can tell.
    bool replace(NodeView node);
    void set_unseen(const UnseenTenants& unseen);

    [[nodiscard]] std::shared_ptr<const ClusterView> build() const;

  private:
    bool put(std::size_t position, NodeView node);

    std::vector<ClusterView::NodePtr> nodes_;
    std::vector<PlacementRow> rows_;  // parallel
    std::vector<Bytes> free_;         // of all cards
    std::shared_ptr<const NameIndex> index_;
    std::shared_ptr<const UnseenTenants> unseen_;
};

}  // namespace tessera

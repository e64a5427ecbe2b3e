// Makes the views that readers get, one after the other: each shares with the last the pieces that
// did not change.
#pragma once

#include <cstdint>
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

    [[nodiscard]] std::shared_ptr<const ClusterView> build(const UnseenIndex& unseen) const;

  private:
    std::uint64_t versions_ = 0;  // that were given
    std::vector<ClusterView::PiecePtr> pieces_;
    std::shared_ptr<const NameIndex> index_;
    // Views have it: changed by way of a copy.
    std::shared_ptr<const Company> company_ = std::make_shared<const Company>();
};

}  // namespace tessera

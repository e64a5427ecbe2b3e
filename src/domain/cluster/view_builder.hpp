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

    [[nodiscard]] std::shared_ptr<const ClusterView> build(const UnseenIndex& unseen);

  private:
    // Notes the pods of a node, or forgets them again (`sign` -1).
    void keep_company(const NodeView& node, int sign);

    std::uint64_t versions_ = 0;  // that were given
    std::vector<ClusterView::PiecePtr> pieces_;
    std::shared_ptr<const NameIndex> index_;
    Company company_;
    std::shared_ptr<const Company> shown_company_;  // null: it has changed since
};

}  // namespace tessera

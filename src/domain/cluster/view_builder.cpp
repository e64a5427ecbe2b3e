#include "domain/cluster/view_builder.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera {

void ViewBuilder::set_nodes(std::vector<NodeView> nodes) {
    nodes_.assign(nodes.size(), nullptr);
    rows_.clear();
    free_.clear();
    std::vector<std::string> names;
    for (NodeView& node : nodes) {
        names.push_back(node.inventory.name.str());
        const std::size_t cards = node.free.size();
        rows_.push_back({.first_card = static_cast<std::uint32_t>(free_.size()),
                         .cards = static_cast<std::uint32_t>(cards)});
        free_.resize(free_.size() + cards);
        put(rows_.size() - 1, std::move(node));
    }
    index_ = std::make_shared<const NameIndex>(names);
}

bool ViewBuilder::replace(NodeView node) {
    if (!index_) return true;
    const std::uint32_t position = index_->find(node.inventory.name.str());
    return position == NameIndex::kNone || put(position, std::move(node));
}

bool ViewBuilder::put(std::size_t position, NodeView node) {
    PlacementRow& row = rows_[position];
    if (row.cards != node.free.size()) return false;
    const auto kept = std::make_shared<const NodeView>(std::move(node));
    row.node = kept.get();
    row.unit = kept->inventory.unit;
    row.open = kept->blocked.empty() && !kept->cards.empty();
    row.largest = row.largest_free = row.spare = {};
    row.unhealthy = 0;
    for (const Card& card : kept->cards) {
        row.largest = std::max(row.largest, card.capacity);
        row.largest_free = std::max(row.largest_free, card.free());
        row.spare += card.free();
        row.unhealthy += card.healthy ? 0 : 1;
    }
    std::ranges::copy(kept->free, free_.begin() + row.first_card);
    nodes_[position] = kept;
    return true;
}

void ViewBuilder::set_unseen(const UnseenTenants& unseen) {
    unseen_ = std::make_shared<const UnseenTenants>(unseen);
}

std::shared_ptr<const ClusterView> ViewBuilder::build() const {
    return std::make_shared<const ClusterView>(nodes_, rows_, free_, index_, unseen_);
}

}  // namespace tessera

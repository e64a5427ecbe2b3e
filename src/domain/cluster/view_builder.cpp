#include "domain/cluster/view_builder.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace tessera {
namespace {

// The row's sums; where its cards are stays.
void weigh(PlacementRow& row, const NodeView& node) {
    row.node = &node;
    row.unit = node.inventory.unit;
    row.open = node.blocked.empty() && !node.cards.empty();
    row.promised = !node.nominees.empty();
    row.largest = row.largest_free = row.spare = {};
    row.unusable = 0;
    for (const Card& card : node.cards) {
        row.largest = std::max(row.largest, card.capacity);
        row.largest_free = std::max(row.largest_free, card.free());
        row.spare += card.free();
        row.unusable += card.usable ? 0 : 1;
    }
    row.lowest_priority = std::numeric_limits<int>::max();
    for (const TenantPtr& tenant : node.tenants) {
        if (tenant->stage == Stage::seen)
            row.lowest_priority = std::min(row.lowest_priority, tenant->priority);
    }
}

// Puts a node to place `i`, where the row says where its cards are and how many.
void put(ViewPiece& piece, std::size_t i, NodeView node, std::uint64_t version) {
    piece.nodes[i] = std::make_shared<const NodeView>(std::move(node));
    std::ranges::copy(piece.nodes[i]->free, piece.free.begin() + piece.rows[i].first_card);
    weigh(piece.rows[i], *piece.nodes[i]);
    piece.rows[i].version = version;
}

}  // namespace

void ViewBuilder::set_nodes(std::vector<NodeView> nodes) {
    pieces_.clear();
    company_ = {};
    shown_company_.reset();
    for (const NodeView& node : nodes)
        keep_company(node, 1);
    std::vector<std::string> names;
    for (std::size_t first = 0; first < nodes.size(); first += ViewPiece::kNodes) {
        const auto piece = std::make_shared<ViewPiece>();
        const std::size_t count = std::min(ViewPiece::kNodes, nodes.size() - first);
        for (std::size_t i = 0; i < count; ++i) {
            NodeView& node = nodes[first + i];
            names.push_back(node.inventory.name.str());
            const auto cards = static_cast<std::uint32_t>(node.free.size());
            piece->rows[i].first_card = static_cast<std::uint32_t>(piece->free.size());
            piece->rows[i].cards = cards;
            piece->free.resize(piece->free.size() + cards);
            put(*piece, i, std::move(node), ++versions_);
        }
        pieces_.push_back(piece);
    }
    index_ = std::make_shared<const NameIndex>(names);
}

bool ViewBuilder::replace(NodeView node) {
    if (!index_) return true;
    const std::uint32_t position = index_->find(node.inventory.name.str());
    if (position == NameIndex::kNone) return true;
    ClusterView::PiecePtr& shown = pieces_[position / ViewPiece::kNodes];
    const std::size_t i = position % ViewPiece::kNodes;
    if (shown->rows[i].cards != node.free.size()) return false;
    keep_company(*shown->nodes[i], -1);
    keep_company(node, 1);
    const auto piece = std::make_shared<ViewPiece>(*shown);
    put(*piece, i, std::move(node), ++versions_);
    shown = piece;
    return true;
}

void ViewBuilder::keep_company(const NodeView& node, int sign) {
    const auto note = [&](const std::optional<CardGroup>& group, const PodUid& pod,
                          Company::As as) {
        if (!group) return;
        shown_company_.reset();
        if (sign > 0) {
            company_.add(*group, pod, as);
        } else {
            company_.remove(*group, pod, as);
        }
    };
    for (const TenantPtr& tenant : node.tenants)
        note(tenant->together, tenant->uid, Company::As::holder);
    for (const PodAskPtr& nominee : node.nominees) {
        note(nominee->request.front().gpu.rules.together, nominee->uid, Company::As::nominee);
    }
}

std::shared_ptr<const ClusterView> ViewBuilder::build(const UnseenIndex& unseen) {
    if (!shown_company_) shown_company_ = std::make_shared<const Company>(company_);
    return std::make_shared<const ClusterView>(pieces_, index_, unseen, shown_company_);
}

}  // namespace tessera

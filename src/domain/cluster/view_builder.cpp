#include "domain/cluster/view_builder.hpp"

#include <algorithm>
#include <limits>
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
    row.unhealthy = 0;
    for (const Card& card : node.cards) {
        row.largest = std::max(row.largest, card.capacity);
        row.largest_free = std::max(row.largest_free, card.free());
        row.spare += card.free();
        row.unhealthy += card.healthy ? 0 : 1;
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

// Groups of the pods that hold cards of the node, or are kept room there; mostly none.
using Members = std::vector<std::pair<CardGroup, PodUid>>;

Members members_of(const NodeView& node) {
    Members out;
    for (const TenantPtr& tenant : node.tenants) {
        for (const CardGroup group : tenant->groups)
            out.emplace_back(group, tenant->uid);
    }
    for (const PodAskPtr& nominee : node.nominees) {
        for (const CardGroup group : nominee->request.front().gpu.rules.groups())
            out.emplace_back(group, nominee->uid);
    }
    return out;
}

// Null where nothing changes.
std::shared_ptr<const Company> moved(const Company& before, const Members& from,
                                     const Members& to) {
    if (from == to) return nullptr;
    const auto after = std::make_shared<Company>(before);
    for (const auto& [group, pod] : from)
        after->remove(group, pod);
    for (const auto& [group, pod] : to)
        after->add(group, pod);
    return after;
}

}  // namespace

void ViewBuilder::set_nodes(std::vector<NodeView> nodes) {
    pieces_.clear();
    const auto company = std::make_shared<Company>();
    for (const NodeView& node : nodes) {
        for (const auto& [group, pod] : members_of(node))
            company->add(group, pod);
    }
    company_ = company;
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
    auto company = moved(*company_, members_of(*shown->nodes[i]), members_of(node));
    if (company) company_ = std::move(company);
    const auto piece = std::make_shared<ViewPiece>(*shown);
    put(*piece, i, std::move(node), ++versions_);
    shown = piece;
    return true;
}

std::shared_ptr<const ClusterView> ViewBuilder::build(const UnseenIndex& unseen) const {
    return std::make_shared<const ClusterView>(pieces_, index_, unseen, company_);
}

}  // namespace tessera

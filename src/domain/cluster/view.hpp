// One immutable picture of the cluster's cards and who holds them. Published by the state's owner
// after every change; readers keep the one they took for as long as a decision lasts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "domain/cluster/company.hpp"
#include "domain/cluster/name_index.hpp"
#include "domain/cluster/node.hpp"
#include "domain/cluster/pod_ask.hpp"
#include "domain/cluster/tenant.hpp"
#include "domain/cluster/unseen_index.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

struct NodeView {
    NodeInventory inventory;
    std::vector<Card> cards;         // parallel to inventory.gpus
    std::vector<Bytes> free;         // of each card; 0 when it is not in use
    std::vector<Island> islands;     // of the cards (islands.hpp)
    std::vector<TenantPtr> tenants;  // ascending by pod name, then uid
    // Pods for which room is kept here (PendingPod::kept_on), the highest priority first, then
    // whoever has it longest.
    std::vector<PodAskPtr> nominees;
    NodeLoad load;  // as the placement engine sees it (placement/engine_terms.hpp)
    // Why nothing may be placed here although there may be room; empty when it may. For any reader:
    // it names no pod.
    std::string blocked;
    // The pod that is the reason, where one is, and the same words with its name (blocked_for).
    struct BlockedBy {
        PodName pod;
        std::string why;
    };
    std::optional<BlockedBy> blocked_by = {};

    [[nodiscard]] Offer offer() const {
        return {inventory.gpus, cards,          free,
                islands,        inventory.unit, inventory.source == InventorySource::legacy};
    }
};

// What placement reads of every node for every request. The rows of nodes that are next to each
// other lie in one piece, and so does what their cards have free: the nodes themselves are all over
// the memory, and fetching them is most of what a request would cost (extender_bench).
struct PlacementRow {
    const NodeView* node = nullptr;  // at the same position
    std::uint32_t first_card = 0;    // in ViewPiece::free
    std::uint32_t cards = 0;
    Bytes largest;  // capacity of a card
    Bytes largest_free;
    Bytes spare;       // free on all cards: among equal prices the fuller node is better
    int unusable = 0;  // cards
    int lowest_priority = std::numeric_limits<int>::max();  // of pods that were shown bound
    MemoryUnit unit = MemoryUnit::gib;
    std::uint64_t version = 0;  // of the node's view: no two are alike
    bool open = false;          // has cards and is not blocked
    bool promised = false;      // has nominees
};

// Nodes at consecutive positions. Views share the pieces that did not change between them, so that
// one pod's change costs a copy of its piece and not of the cluster.
struct ViewPiece {
    static constexpr std::size_t kNodes = 64;

    std::array<PlacementRow, kNodes> rows;
    std::array<std::shared_ptr<const NodeView>, kNodes> nodes;
    std::vector<Bytes> free;  // of all their cards
};

class ClusterView {
  public:
    using NodePtr = std::shared_ptr<const NodeView>;
    using PiecePtr = std::shared_ptr<const ViewPiece>;

    ClusterView() = default;
    // The positions in `index` are those in `pieces`.
    ClusterView(std::vector<PiecePtr> pieces, std::shared_ptr<const NameIndex> index,
                UnseenIndex unseen, std::shared_ptr<const Company> company)
        : pieces_(std::move(pieces)),
          index_(std::move(index)),
          unseen_(std::move(unseen)),
          company_(std::move(company)) {}

    // NameIndex::kNone when the node is unknown.
    [[nodiscard]] std::uint32_t position(std::string_view name) const {
        return index_ ? index_->find(name) : NameIndex::kNone;
    }
    [[nodiscard]] std::vector<std::uint32_t> positions(
        std::span<const std::string_view> names) const {
        if (index_) return index_->find_all(names);
        return std::vector<std::uint32_t>(names.size(), NameIndex::kNone);
    }
    // Null when the node is unknown. The pointer lives as long as this view.
    [[nodiscard]] const NodeView* find(std::string_view name) const {
        const std::uint32_t at = position(name);
        return at == NameIndex::kNone ? nullptr : row(at).node;
    }
    // Positions are below that.
    [[nodiscard]] std::size_t places() const { return pieces_.size() * ViewPiece::kNodes; }
    // The same as another view's where the same nodes are at the same positions.
    [[nodiscard]] const std::shared_ptr<const NameIndex>& index() const { return index_; }
    // Of a known node.
    [[nodiscard]] const PlacementRow& row(std::size_t position) const {
        return pieces_[position / ViewPiece::kNodes]->rows[position % ViewPiece::kNodes];
    }
    // Its NodeView::free.
    [[nodiscard]] std::span<const Bytes> free_of(std::size_t position) const {
        const PlacementRow& of = row(position);
        const std::span<const Bytes> all = pieces_[position / ViewPiece::kNodes]->free;
        return all.subspan(of.first_card, of.cards);
    }

    // What a pod holds that the API server has not shown bound yet; null when it holds nothing.
    [[nodiscard]] const Tenant* unseen(const PodUid& uid) const { return unseen_.find(uid); }

    [[nodiscard]] std::size_t unseen_count() const { return unseen_.size(); }

    // The pod, with CardRules::joins as it is now.
    [[nodiscard]] PodAsk joined(PodAsk pod) const {
        for (ContainerRequest& container : pod.request) {
            CardRules& rules = container.gpu.rules;
            rules.joins =
                rules.together && company_ && company_->has_other(*rules.together, pod.uid);
        }
        return pod;
    }

    // Whether a pod of lower priority is on a card somewhere.
    [[nodiscard]] bool anyone_below(int priority) const {
        return std::ranges::any_of(pieces_, [&](const PiecePtr& piece) {
            return std::ranges::any_of(piece->rows, [&](const PlacementRow& row) {
                return row.lowest_priority < priority;
            });
        });
    }

    // Ascending by name. Made for the caller: for those who look at all of them, now and then.
    [[nodiscard]] std::vector<NodePtr> nodes() const {
        std::vector<NodePtr> out;
        for (const PiecePtr& piece : pieces_) {
            std::ranges::copy_if(piece->nodes, std::back_inserter(out),
                                 [](const NodePtr& node) { return node != nullptr; });
        }
        return out;
    }

  private:
    std::vector<PiecePtr> pieces_;
    std::shared_ptr<const NameIndex> index_;
    UnseenIndex unseen_;
    std::shared_ptr<const Company> company_;
};

}  // namespace tessera

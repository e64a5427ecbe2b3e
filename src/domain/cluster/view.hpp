// One immutable picture of the cluster's cards and who holds them. Published by the state's owner
// after every change; readers keep the one they took for as long as a decision lasts.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "domain/allocation/allocation.hpp"
#include "domain/cluster/name_index.hpp"
#include "domain/cluster/node.hpp"

namespace tessera {

// How sure we are of a pod's hold on its cards.
enum class Stage {
    reserved,  // ours, in memory; an attempt to write the Binding is under way
    bound,     // the last attempt was answered or is in doubt; the watch has not shown it yet
    seen,      // the API server showed the pod with this allocation
};

// One attempt to write a pod's Binding. What is said of an attempt has no effect once there is a
// later one.
struct Attempt {
    PodUid pod;
    int number = 0;  // from 1

    friend bool operator==(const Attempt&, const Attempt&) = default;
};

// A pod that holds shares on a node.
struct Tenant {
    PodUid uid;
    PodName name;
    Stage stage = Stage::reserved;
    int attempt = 0;        // the last one's number; 0 when none was ours
    bool in_doubt = false;  // an earlier attempt may still bind the pod
    int priority = 0;       // spec.priority; of Stage::seen, like the next
    bool terminating = false;
    Allocation allocation;
    std::vector<Hold> holds;

    friend bool operator==(const Tenant&, const Tenant&) = default;
};

using TenantPtr = std::shared_ptr<const Tenant>;

// Adds what a tenant holds to the cards, or takes it away (`sign` -1). `cards` is parallel to
// `gpus`; what is on a card that the node does not have counts nowhere.
void count_holds(const Tenant& tenant, std::span<const Gpu> gpus, std::span<Card> cards, int sign);

struct NodeView {
    NodeInventory inventory;
    std::vector<Card> cards;         // parallel to inventory.gpus
    std::vector<Bytes> free;         // of each card; 0 when it is not in use
    std::vector<TenantPtr> tenants;  // ascending by pod name, then uid
    // Why nothing may be placed here although there may be room; empty when it may.
    std::string blocked;

    [[nodiscard]] Offer offer() const {
        return {cards, free, inventory.unit, inventory.source == InventorySource::legacy};
    }
};

// What placement reads of every node for every request. The rows of all nodes lie in one piece, and
// so does what their cards have free: the nodes themselves are all over the memory, and fetching
// them is most of what a request would cost (extender_bench).
struct PlacementRow {
    const NodeView* node = nullptr;  // at the same position
    std::uint32_t first_card = 0;    // in ClusterView's list of all cards
    std::uint32_t cards = 0;
    int unhealthy = 0;  // cards
    Bytes largest;      // capacity of a card
    Bytes largest_free;
    Bytes spare;  // free on all cards: among equal prices the fuller node is better
    MemoryUnit unit = MemoryUnit::gib;
    bool open = false;  // has cards and is not blocked
};

// Tenants that no watch event has shown bound yet: few, and each for milliseconds.
using UnseenTenants = std::map<PodUid, TenantPtr>;

class ClusterView {
  public:
    using NodePtr = std::shared_ptr<const NodeView>;

    ClusterView() = default;
    // `rows` and the positions in `index` are parallel to `nodes`; `free` is of all their cards.
    ClusterView(std::vector<NodePtr> nodes, std::vector<PlacementRow> rows, std::vector<Bytes> free,
                std::shared_ptr<const NameIndex> index, std::shared_ptr<const UnseenTenants> unseen)
        : nodes_(std::move(nodes)),
          rows_(std::move(rows)),
          free_(std::move(free)),
          index_(std::move(index)),
          unseen_(std::move(unseen)) {}

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
        return at == NameIndex::kNone ? nullptr : nodes_[at].get();
    }

    // What a pod holds that the API server has not shown bound yet; null when it holds nothing.
    [[nodiscard]] const Tenant* unseen(const PodUid& uid) const {
        if (!unseen_) return nullptr;
        const auto at = unseen_->find(uid);
        return at == unseen_->end() ? nullptr : at->second.get();
    }

    [[nodiscard]] std::size_t unseen_count() const { return unseen_ ? unseen_->size() : 0; }

    // Ascending by name.
    [[nodiscard]] const std::vector<NodePtr>& nodes() const { return nodes_; }
    [[nodiscard]] const std::vector<PlacementRow>& rows() const { return rows_; }
    // NodeView::free of the row's node.
    [[nodiscard]] std::span<const Bytes> free_of(const PlacementRow& row) const {
        return std::span(free_).subspan(row.first_card, row.cards);
    }

  private:
    std::vector<NodePtr> nodes_;
    std::vector<PlacementRow> rows_;
    std::vector<Bytes> free_;
    std::shared_ptr<const NameIndex> index_;
    std::shared_ptr<const UnseenTenants> unseen_;
};

}  // namespace tessera

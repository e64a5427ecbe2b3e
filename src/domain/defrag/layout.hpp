// The cards of a cluster while moves are tried on paper.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "domain/defrag/plan.hpp"
#include "domain/defrag/price_list.hpp"
#include "domain/placement/node_price.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera::defrag {

// A cost is a lower bound of moves, in parts: a pod that lies on several cards counts in part on
// each.
inline constexpr std::int64_t kOneMove = 840;  // divisible by 1 to 8
inline constexpr std::int64_t kLeastPart = 1;
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 1024;

// A movable pod where it is now.
struct Lodger {
    TenantPtr tenant;
    std::size_t node = 0;
    std::vector<std::size_t> cards;  // positions on the node, ascending
    Bytes size;
    const MovablePod* pod = nullptr;
    std::vector<std::pair<Bytes, Percent>> held;  // of each of the cards, as count_holds has it
    std::optional<std::size_t> kind{};            // pods of one kind are placed alike; once placed
    bool moved = false;
};

// Where a new pod would go.
struct Place {
    std::size_t node = 0;
    Fit fit;  // positions on the node

    [[nodiscard]] bool touches(const Lodger& lodger) const;
    [[nodiscard]] bool is_same(const Place& other) const;
};

class Layout {
  public:
    // Kinds of pods whose prices are kept: some 150 MB of a cluster of 5,000 nodes.
    static constexpr std::size_t kMostKinds = 1'024;

    // Both outlive the layout. `asker`: for whom room is sought. It is offered what the nominees
    // that come before it leave, and a lodger's new pod what those before that pod leave, which may
    // be others.
    Layout(const Cluster& cluster, const Asker& asker, std::size_t most_kinds = kMostKinds);

    [[nodiscard]] const std::vector<Lodger>& lodgers() const { return lodgers_; }
    [[nodiscard]] std::size_t nodes() const { return rooms_.size(); }
    [[nodiscard]] const NodeView& view(std::size_t node) const { return *rooms_[node].view; }
    [[nodiscard]] bool is_open(std::size_t node) const { return rooms_[node].open; }
    [[nodiscard]] std::size_t cards(std::size_t node) const {
        return rooms_[node].now.cards.size();
    }
    // Of moves on a node with nominees it is not known beforehand which cards they leave: they turn
    // to others as pods come and go.
    [[nodiscard]] bool has_nominees() const { return has_nominees_; }
    [[nodiscard]] bool has_nominees(std::size_t node) const { return !view(node).nominees.empty(); }
    [[nodiscard]] Room room() const;
    // In order, and on nodes that take new pods.
    [[nodiscard]] std::size_t usable_cards() const;

    // Those that the card began with.
    [[nodiscard]] std::span<const std::size_t> lodgers_on(std::size_t node,
                                                          std::size_t card) const {
        return rooms_[node].lodgers[card];
    }
    // By node. Nothing: none of them.
    [[nodiscard]] std::vector<char> barred_nodes(const Barred& barred) const;
    // Where the lodger's new pod would go as all is now; nothing where it would find no room, come
    // back to cards that the lodger has, or where that hangs on when it is made.
    [[nodiscard]] std::optional<Place> place(std::size_t lodger);
    // What place() remembers, `most_kinds` at most: nearly all of the memory that is in use.
    [[nodiscard]] std::size_t priced_kinds() const;
    // For how many kinds, each, by all calls of place(): most of the time that they took.
    [[nodiscard]] std::size_t nodes_priced() const { return nodes_priced_; }
    // Whether the pod that `placer` places finds its cards on a node, and what it asks of the host.
    [[nodiscard]] bool fits(Placer& placer, const HostAsk& host, std::size_t node) const;
    // Whether it would without any of the lodgers that the node began with.
    [[nodiscard]] bool could_fit(Placer& placer, const HostAsk& host, std::size_t node) const;

    // Moves of lodgers that are not there any more must be undone in the reverse order.
    void leave(std::size_t lodger);
    void enter(std::size_t lodger, const Place& place);
    void undo_leave(std::size_t lodger);
    void undo_enter(std::size_t lodger, const Place& place);

    // How many lodgers must leave before one card of the container fits here, at least. Where none
    // is in its way but a nominee, the least part of a move: some move may turn that one away.
    [[nodiscard]] std::int64_t cost(const ContainerRequest& container, std::size_t node,
                                    std::size_t card) const;

  private:
    struct NodeRoom {
        const NodeView* view = nullptr;  // as it was
        NodeView now;
        std::vector<Card> left;  // of its cards, to the asker; empty: all of them
        HostAsk used;
        bool open = false;
        std::vector<std::vector<std::size_t>> lodgers;  // by card
        std::uint64_t version = 0;  // of `now`: no two are alike; what is undone has its own again
        std::vector<std::uint64_t> versions_before;  // what is not undone yet
    };
    // What the nodes cost pods of one kind.
    struct Prices {
        PriceList nodes;
        std::vector<char> barred;
        std::vector<std::uint64_t> versions;  // by node, of what was priced
        std::size_t followed;                 // changes_
    };
    // Pods that find the same, but for the memory of the host, and what that is.
    struct Kind {
        const MovablePod* one = nullptr;
        std::optional<Prices> prices{};  // once one of them was placed
    };

    [[nodiscard]] static std::span<const Card> left(const NodeRoom& room) {
        return room.left.empty() ? room.now.cards : room.left;
    }
    [[nodiscard]] HostAsk host_left(std::size_t node) const;
    void add_lodgers(const Cluster& cluster);
    std::size_t kind_of(const MovablePod& pod);
    [[nodiscard]] std::optional<Place> best_place(Lodger& lodger);
    [[nodiscard]] std::optional<Place> place_once_gone(std::size_t lodger);
    [[nodiscard]] std::optional<std::size_t> cheapest_node(const MovablePod& pod,
                                                           PriceList& prices) const;
    // Up to date with the nodes that have changed since it looked at them last.
    Prices& prices_of(Kind& kind);
    [[nodiscard]] Prices no_prices(const MovablePod& pod) const;
    void forget_one_kind();
    void look_at(Prices& prices, const MovablePod& pod, std::size_t node, Placer& placer);
    [[nodiscard]] std::optional<NodePrice> price(const MovablePod& pod, std::size_t node,
                                                 Placer& placer) const;
    // Takes a tenant away, or puts it there: as a new state of the node, or the one before the
    // last.
    enum class As { new_state, undone };
    void remove(std::size_t node, const Tenant& tenant, const HostAsk& host, As as);
    void add(std::size_t node, TenantPtr tenant, const HostAsk& host, As as);
    void refresh(std::size_t node);
    void note_change(std::size_t node, As as);

    const Asker asker_;
    const std::size_t most_kinds_;
    bool has_nominees_ = false;
    std::vector<NodeRoom> rooms_;
    std::vector<Lodger> lodgers_;  // the smallest first
    std::vector<Kind> kinds_;
    std::vector<std::uint32_t> changes_;  // nodes, each as often as it changed
    std::uint64_t versions_ = 0;
    std::size_t nodes_priced_ = 0;
};

}  // namespace tessera::defrag

// The cards of a cluster while moves are tried on paper.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "domain/defrag/plan.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera::defrag {

// A cost is a lower bound of moves, in parts: a pod that lies on several cards counts in part on
// each.
inline constexpr std::int64_t kOneMove = 840;  // divisible by 1 to 8
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 1024;

// A movable pod where it is now.
struct Lodger {
    const Tenant* tenant = nullptr;
    std::size_t node = 0;
    std::vector<std::size_t> cards;  // positions on the node, ascending
    Bytes size;
    const MovablePod* pod = nullptr;
    bool one_share = false;
    bool moved = false;
};

// Where a new pod would go.
struct Place {
    std::size_t node = 0;
    Fit fit;  // positions on the node

    [[nodiscard]] bool touches(const Lodger& lodger) const;
};

class Layout {
  public:
    // The cluster outlives the layout. `asker`: for whom room is sought, whom nominees may come
    // before.
    Layout(const Cluster& cluster, const Asker& asker);

    [[nodiscard]] const std::vector<Lodger>& lodgers() const { return lodgers_; }
    [[nodiscard]] std::size_t nodes() const { return rooms_.size(); }
    [[nodiscard]] const NodeView& view(std::size_t node) const { return *rooms_[node].view; }
    [[nodiscard]] bool is_open(std::size_t node) const { return rooms_[node].open; }
    [[nodiscard]] std::size_t cards(std::size_t node) const { return rooms_[node].cards.size(); }
    [[nodiscard]] Room room() const;
    // In order, and on nodes that take new pods.
    [[nodiscard]] std::size_t usable_cards() const;

    [[nodiscard]] bool is_barred(const Barred& barred, std::size_t node) const {
        return barred && barred->contains(view(node).inventory.name);
    }
    // Where the lodger's new pod fits beside all that is there, not on the cards that it has. By
    // what stays free there, then by node and card. Of one that spreads: the one with the most
    // room.
    [[nodiscard]] std::vector<Place> places(const Lodger& lodger) const;
    // The best fit of a request on a node.
    [[nodiscard]] std::optional<Fit> fit(Placer& placer, std::size_t node) const;
    // Whether it would fit without any of the lodgers that the node began with.
    [[nodiscard]] bool could_fit(Placer& placer, std::size_t node) const;

    // Moves of lodgers that are not there any more must be undone in the reverse order.
    void leave(std::size_t lodger);
    void enter(std::size_t lodger, const Place& place);
    void undo_leave(std::size_t lodger);
    void undo_enter(std::size_t lodger, const Place& place);

    // How many lodgers must leave before one card of the container fits here, at least.
    [[nodiscard]] std::int64_t cost(const ContainerRequest& container, std::size_t node,
                                    std::size_t card) const;

  private:
    struct NodeRoom {
        const NodeView* view = nullptr;
        bool open = false;
        std::vector<Card> cards;
        std::vector<std::vector<std::size_t>> lodgers;  // by card
    };

    void add_lodgers(const Cluster& cluster);
    // Thousandths of the place's cards that are free before the pod comes.
    [[nodiscard]] std::int64_t room_left(const Place& place) const;
    void count(std::size_t lodger, const Place& place, int sign);
    void places_of_one_share(const Lodger& lodger, std::size_t node, Placer& placer,
                             std::vector<Place>& out) const;
    void place_of_several(const Lodger& lodger, std::size_t node, Placer& placer,
                          std::vector<Place>& out) const;

    std::vector<NodeRoom> rooms_;
    std::vector<Lodger> lodgers_;  // the smallest first
};

}  // namespace tessera::defrag

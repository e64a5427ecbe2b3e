// How many moves a goal still needs, at least: what tells the search where not to look.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "domain/defrag/layout.hpp"

namespace tessera::defrag {

// Kept node by node: after a change of a node say refresh().
class Bounds {
  public:
    // Both outlive this.
    Bounds(const Layout& layout, const Goal& goal);

    void refresh(std::size_t node);
    // 0: the goal is reached. kNever: no moves reach it.
    [[nodiscard]] std::int64_t moves() const;
    // The lodgers without which moves() may be less, ascending: of a large cluster they are few.
    [[nodiscard]] std::vector<std::size_t> who_may_lower() const;
    // Of RoomFor, once it is reached.
    [[nodiscard]] NodeName fits_on() const;

  private:
    [[nodiscard]] std::size_t counted() const;
    // The cost of the dearest card, or of the node, that moves() counts.
    [[nodiscard]] std::int64_t edge() const;
    std::int64_t cost_of_room(const RoomFor& room, std::size_t node);
    bool could_fit(Placer& placer, const HostAsk& host, std::size_t node);

    const Layout& layout_;
    const Goal& goal_;
    int free_wanted_ = 0;                           // of FreeCards: in all
    std::vector<std::vector<std::int64_t>> costs_;  // by node: of its cards, or one for the pod
    // Where each cost is: a node, and where in costs_[node].
    std::map<std::int64_t, std::set<std::pair<std::size_t, std::size_t>>> by_cost_;
    std::vector<std::size_t> with_nominees_;      // nodes
    std::vector<char> barred_;                    // of RoomFor: Layout::barred_nodes
    std::vector<std::optional<bool>> could_fit_;  // by node, where it was asked
};

}  // namespace tessera::defrag

// A lower bound of the moves that a goal still needs. The search skips what the bound excludes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "domain/defrag/defrag_state.hpp"

namespace tessera::defrag {

// Updated node by node: call refresh() after a change of a node.
class Bounds {
  public:
    // Both must outlive this object.
    Bounds(const DefragState& state, const Goal& goal);

    void refresh(std::size_t node);
    // 0: the goal is reached. kNever: no moves reach it.
    [[nodiscard]] std::int64_t moves() const;
    // The placed pods without which moves() may be smaller, ascending. In a large cluster they are
    // few.
    [[nodiscard]] std::vector<std::size_t> who_may_lower() const;
    // The node on which the pod of RoomFor fits, once it does.
    [[nodiscard]] NodeName fits_on() const;

  private:
    [[nodiscard]] std::size_t counted() const;
    // The largest cost, of a GPU or of the node, that moves() counts.
    [[nodiscard]] std::int64_t edge() const;
    std::int64_t cost_of_room(const RoomFor& room, std::size_t node);
    bool could_fit(Placer& placer, const HostRequest& host, std::size_t node);

    const DefragState& state_;
    const Goal& goal_;
    int free_wanted_ = 0;                           // for FreeGpus: in total
    std::vector<std::vector<std::int64_t>> costs_;  // by node: one per GPU, or one for the pod
    // The position of each cost: a node, and an index in costs_[node].
    std::map<std::int64_t, std::set<std::pair<std::size_t, std::size_t>>> by_cost_;
    std::vector<std::size_t> with_nominees_;      // nodes
    std::vector<char> barred_;                    // for RoomFor: DefragState::barred_nodes
    std::vector<std::optional<bool>> could_fit_;  // by node, where it was computed
};

}  // namespace tessera::defrag

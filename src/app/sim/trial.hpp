// All or none: tasks that are placed together or not at all, by trying and taking back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "app/sim/node_caps.hpp"
#include "app/sim/replay.hpp"
#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/index.hpp"

namespace tessera {

// What is placed through it is taken back when it goes, the last first, unless keep() was called.
// One thread; `fleet` and `caps` outlive it.
class Trial {
  public:
    explicit Trial(Fleet& fleet, NodeCaps* caps = nullptr) : fleet_(fleet), caps_(caps) {}
    ~Trial();
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    void place(std::size_t node, const Task& task, CardSet cards, const NodeCap& cap = {});
    void keep() { placed_.clear(); }

  private:
    struct One {
        std::size_t node;
        Task task;
        CardSet cards;
        NodeCap cap;
    };
    Fleet& fleet_;
    NodeCaps* caps_;
    std::vector<One> placed_;
};

// Places each task where the index says, one after the other; nothing when one of them finds no
// room. `cap` is that of each, `draw` gives a random number for each.
template <class Draw>
std::optional<std::vector<Placed>> place_together(Fleet& fleet, FleetIndex& index, NodeCaps& caps,
                                                  std::span<const Task> tasks, const NodeCap& cap,
                                                  Draw& draw) {
    Trial trial(fleet, &caps);
    std::vector<Placed> placed;
    placed.reserve(tasks.size());
    for (const Task& task : tasks) {
        const auto decision = index.choose(task, draw(), caps.full(cap));
        if (!decision) return std::nullopt;
        trial.place(decision->node, task, decision->rating.cards, cap);
        placed.push_back({static_cast<std::int32_t>(decision->node), decision->rating.cards});
    }
    trial.keep();
    return placed;
}

}  // namespace tessera

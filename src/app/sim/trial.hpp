// All or none: tasks that are placed together or not at all, by trying and taking back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "app/sim/replay.hpp"
#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/index.hpp"

namespace tessera {

// What is placed through it is taken back when it goes, the last first, unless keep() was called.
// One thread; `fleet` outlives it.
class Trial {
  public:
    explicit Trial(Fleet& fleet) : fleet_(fleet) {}
    ~Trial();
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    void place(std::size_t node, const Task& task, CardSet cards);
    void keep() { placed_.clear(); }

  private:
    struct One {
        std::size_t node;
        Task task;
        CardSet cards;
    };
    Fleet& fleet_;
    std::vector<One> placed_;
};

// Places each task where the index says, one after the other; nothing when one of them finds no
// room. `draw` gives a random number for each.
template <class Draw>
std::optional<std::vector<Placed>> place_together(Fleet& fleet, FleetIndex& index,
                                                  std::span<const Task> tasks, Draw& draw) {
    Trial trial(fleet);
    std::vector<Placed> placed;
    placed.reserve(tasks.size());
    for (const Task& task : tasks) {
        const auto decision = index.choose(task, draw());
        if (!decision) return std::nullopt;
        trial.place(decision->node, task, decision->rating.cards);
        placed.push_back({static_cast<std::int32_t>(decision->node), decision->rating.cards});
    }
    trial.keep();
    return placed;
}

}  // namespace tessera

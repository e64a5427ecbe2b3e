// Places tasks together or not at all, by trying and undoing.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "domain/placement/engine/index.hpp"
#include "domain/placement/engine/placement_engine.hpp"
#include "simulator/replay/replay.hpp"
#include "simulator/workload/node_caps.hpp"

namespace tessera {

// Undoes on destruction what was placed through it, the last first, unless keep() was called. Uses
// one thread; `engine` and `caps` outlive this.
class Trial {
  public:
    explicit Trial(PlacementEngine& engine, NodeCaps* caps = nullptr)
        : engine_(engine), caps_(caps) {}
    ~Trial();
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    void place(std::size_t node, const PlacementTask& task, GpuSet gpus, const NodeCap& cap = {});
    void keep() { placed_.clear(); }

  private:
    struct One {
        std::size_t node;
        PlacementTask task;
        GpuSet gpus;
        NodeCap cap;
    };
    PlacementEngine& engine_;
    NodeCaps* caps_;
    std::vector<One> placed_;
};

// Places each task where the index says, one after the other; nothing if one of them finds no room.
// `cap` applies to each; `draw` gives a random number for each.
template <class Draw>
std::optional<std::vector<Placed>> place_together(PlacementEngine& engine, EngineIndex& index,
                                                  NodeCaps& caps,
                                                  std::span<const PlacementTask> tasks,
                                                  const NodeCap& cap, Draw& draw) {
    Trial trial(engine, &caps);
    std::vector<Placed> placed;
    placed.reserve(tasks.size());
    for (const PlacementTask& task : tasks) {
        const auto decision = index.choose(task, draw(), caps.full(cap));
        if (!decision) return std::nullopt;
        trial.place(decision->node, task, decision->score.gpus, cap);
        placed.push_back({static_cast<std::int32_t>(decision->node), decision->score.gpus});
    }
    trial.keep();
    return placed;
}

}  // namespace tessera

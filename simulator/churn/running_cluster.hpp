// The running tasks of a simulation in the form in which defragmentation reads a cluster
// (domain/defrag/plan.hpp), so that its planner chooses the moves. A GPU has 1,000 MiB here: a
// thousandth of it is a MiB, so engine_terms.hpp returns exactly the simulation's tasks and loads.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "domain/defrag/plan.hpp"
#include "domain/placement/engine/index.hpp"
#include "domain/placement/engine/placement_engine.hpp"
#include "simulator/replay/replay.hpp"

namespace tessera {

// A task to move, and the place where the policy would put it.
struct TaskMove {
    std::size_t task = 0;
    Placed from;
    Placed to;
};

// The waiting tasks for which moves are planned: `count` identical tasks that all need room, on
// none of the nodes `without`.
struct WaitingTasks {
    PlacementTask task;
    int count = 1;
    std::span<const std::uint32_t> without;
};

// Uses one thread. `index` and `policy` outlive this; copies are independent.
class RunningCluster {
  public:
    RunningCluster(std::span<const NodeShape> nodes, EngineIndex& index, PlacementPolicy& policy);

    // `number` identifies the caller's task. A task that is not movable has any number of places. A
    // movable one has one place, or two, of which the older is released next.
    void placed(std::size_t number, const PlacementTask& task, const Placed& place, bool movable);
    void left(std::size_t number, const PlacementTask& task, const Placed& place);

    // The moves that make room for each of the waiting tasks, in order: the planner's fewest for
    // the first, then, with the first in its place, those for the next. Nothing if there is no plan
    // for one of them, or if it needs more than `most` moves. If the policy breaks ties at random,
    // there are no moves.
    std::optional<std::vector<std::vector<TaskMove>>> moves_for(const WaitingTasks& waiting,
                                                                std::size_t most);

  private:
    struct RunningTask {
        std::size_t number = 0;
        PlacementTask task;
        GpuSet gpus = 0;
        bool movable = false;
    };
    struct Node {
        std::vector<RunningTask> tasks;  // tasks with GPUs
        NodeInfo empty;
        Snapshot::NodePtr info;                   // null: must be rebuilt
        std::vector<defrag::MovablePod> movable;  // those of the node
    };
    // For tasks that may use certain models only.
    struct Admitted {
        std::shared_ptr<const NodeScorer> scorer;
        defrag::Barred barred;
    };

    const defrag::Cluster& cluster();
    void look_at(std::size_t node);
    const Admitted& admitted(ModelSet models);
    [[nodiscard]] defrag::Barred barred(const WaitingTasks& waiting);
    [[nodiscard]] PodRequest request_of(const PlacementTask& task, PodUid uid) const;
    // The plan for one of them, in the current state.
    std::optional<std::vector<TaskMove>> plan(const WaitingTasks& waiting, std::size_t most);
    void make(const TaskMove& move);
    // The place where the policy puts it.
    [[nodiscard]] std::optional<Placed> best_place(const WaitingTasks& waiting);

    EngineIndex* index_;
    PlacementPolicy* policy_;
    PlacementEngine engine_;
    std::vector<Node> nodes_;
    std::map<ModelSet, Admitted> admitted_;
    defrag::Cluster cluster_;
};

}  // namespace tessera

// Who runs where in a simulation, as defragmentation reads a cluster (domain/defrag/plan.hpp), so
// that its planner says who is to be moved. A card has 1,000 MiB here: a thousandth of it is a MiB,
// and engine_terms.hpp gives back the very tasks and loads of the simulation.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/sim/replay.hpp"
#include "domain/defrag/plan.hpp"
#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/index.hpp"

namespace tessera {

// A task that is to run elsewhere, where the policy would put it.
struct TaskMove {
    std::size_t task = 0;
    Placed from;
    Placed to;
};

// For which room is sought: so many alike, all of which need it, on none of the nodes `without`.
struct Seekers {
    Task task;
    int count = 1;
    std::span<const std::uint32_t> without;
};

// One thread. `index` and `policy` outlive it; copies go their own ways.
class RunningCluster {
  public:
    RunningCluster(std::span<const NodeShape> nodes, FleetIndex& index, FleetPolicy& policy);

    // Tasks by the caller's numbers. Who is not movable has any number of places, a movable one
    // has one, or two of which the older leaves next.
    void placed(std::size_t number, const Task& task, const Placed& place, bool movable);
    void left(std::size_t number, const Task& task, const Placed& place);

    // The moves that make room for each of them, in order: the planner's fewest for the first,
    // then, with that one in its place, for the next. Nothing where it finds none for one of them,
    // or more than `most`. Under a policy that draws by lot nobody moves.
    std::optional<std::vector<std::vector<TaskMove>>> moves_for(const Seekers& seekers,
                                                                std::size_t most);

  private:
    struct Guest {
        std::size_t number = 0;
        Task task;
        CardSet cards = 0;
        bool movable = false;
    };
    struct Node {
        std::vector<Guest> guests;  // with cards
        NodeView empty;
        ClusterView::NodePtr view;                // null: to be made anew
        std::vector<defrag::MovablePod> movable;  // of the view
    };
    // Of tasks that may use some models alone.
    struct Admitted {
        std::shared_ptr<const NodeRater> rater;
        defrag::Barred barred;
    };

    const defrag::Cluster& cluster();
    void look_at(std::size_t node);
    const Admitted& admitted(ModelSet models);
    [[nodiscard]] defrag::Barred barred(const Seekers& seekers);
    [[nodiscard]] PodAsk ask_of(const Task& task, PodUid uid) const;
    // For one of them, as all is now.
    std::optional<std::vector<TaskMove>> plan(const Seekers& seekers, std::size_t most);
    void make(const TaskMove& move);
    // Where the policy puts it.
    [[nodiscard]] std::optional<Placed> best_place(const Seekers& seekers);

    FleetIndex* index_;
    FleetPolicy* policy_;
    Fleet fleet_;
    std::vector<Node> nodes_;
    std::map<ModelSet, Admitted> admitted_;
    defrag::Cluster cluster_;
};

}  // namespace tessera

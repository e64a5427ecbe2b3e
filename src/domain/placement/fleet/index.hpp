// Who is best for a task, without asking every node again: per kind of task a tournament of all
// nodes' scores, brought up to date when such a task comes next, from the fleet's log of changes;
// and per kind and state of a node the score, so that the policy works out each once.
//
// A decision costs the changes since the kind was last asked for, each a look-up, and a walk down
// the tournament: it grows with the number of kinds, and hardly with the number of nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/node_state.hpp"
#include "domain/placement/fleet/policy.hpp"
#include "domain/placement/fleet/tournament.hpp"

namespace tessera {

// Where a task goes.
struct Decision {
    std::size_t node = 0;
    Rating rating;
};

// One thread. `fleet` and `policy` outlive it.
class FleetIndex {
  public:
    FleetIndex(const Fleet& fleet, FleetPolicy& policy);

    // The node with the highest score among those that can take the task, ties as the policy says;
    // nothing when none can. `draw` is a random number, for policies that leave something to
    // chance. `without`: nodes that it may not take now.
    [[nodiscard]] std::optional<Decision> choose(const Task& task, std::uint64_t draw,
                                                 std::span<const std::uint32_t> without = {});

    // What choose() compares, of a node that is not there but might be; Tournament::kNone where it
    // cannot take the task for its model, CPU or cards. Memory is not looked at.
    [[nodiscard]] std::int32_t score_of(const NodeLoad& load, const Task& task);

    // A task came that was not there before: the policy may learn from it. Before choose(), once.
    void arrived(const Task& task);

    // The policy scores differently from now on: all is forgotten.
    void rescore();

  private:
    // Tasks that score alike, by the number of the node's state.
    struct Scores {
        std::vector<std::int32_t> by_state;
    };
    // Tasks that are alike, memory included.
    struct Kind {
        Task task;
        Scores* scores;
        Tournament nodes;
        std::uint64_t seen = 0;   // of the fleet's versions
        std::uint64_t epoch = 0;  // of ours; 0: never brought up to date
    };

    void follow_states();
    void note_state(std::size_t node);
    Kind& kind_of_task(const Task& task);
    void follow(Kind& kind);
    std::int32_t score(Kind& kind, std::size_t node);
    std::int32_t score(Scores& scores, std::uint32_t state, const NodeLoad& load, const Task& task);
    [[nodiscard]] bool is_crowded() const;
    // Nothing where no node can take the task.
    std::optional<std::size_t> winner_without(Kind& kind, std::uint64_t draw,
                                              std::span<const std::uint32_t> without) const;
    [[nodiscard]] std::size_t winner(const Kind& kind, std::uint64_t draw) const;

    const Fleet& fleet_;
    FleetPolicy& policy_;
    StateMemo<std::uint32_t> numbers_;                   // of states
    std::vector<std::uint32_t> state_;                   // its number, per node
    std::uint64_t states_seen_ = 0;                      // of the fleet's versions
    std::uint64_t epoch_ = 1;                            // counts rescore()
    std::unordered_map<Task, Scores, TaskHash> scores_;  // memory left out
    std::unordered_map<Task, Kind, TaskHash> kinds_;
};

}  // namespace tessera

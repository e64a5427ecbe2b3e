// Finds the best node for a task without scoring every node again. For each kind of task it keeps a
// tournament of all nodes' scores. When such a task comes again, the engine's log of changes brings
// the tournament up to date. The score is cached per kind and node state, so that the policy
// computes each one once.
//
// A decision costs one look-up per change since the last decision for that kind, and a walk down
// the tournament. The cost grows with the number of kinds, and hardly with the number of nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "domain/placement/engine/node_state.hpp"
#include "domain/placement/engine/placement_engine.hpp"
#include "domain/placement/engine/policy.hpp"
#include "domain/placement/engine/tournament.hpp"

namespace tessera {

// The node and GPUs for a task.
struct Decision {
    std::size_t node = 0;
    PolicyScore score;
};

// Used by one thread. `engine` and `policy` must outlive it.
class EngineIndex {
  public:
    EngineIndex(const PlacementEngine& engine, PlacementPolicy& policy);

    // The node with the highest score of those that can take the task; the policy says how ties are
    // broken. Nothing if no node can take it. `random` is a random number for policies that choose
    // at random. `without`: nodes that the task may not use now.
    [[nodiscard]] std::optional<Decision> choose(const PlacementTask& task, std::uint64_t random,
                                                 std::span<const std::uint32_t> without = {});

    // The score that choose() would use for a hypothetical node. Tournament::kNone if the node
    // cannot take the task by model, CPU or GPUs. Memory is ignored.
    [[nodiscard]] std::int32_t score_of(const NodeLoad& load, const PlacementTask& task);

    // A new task arrived; the policy may learn from it. Call it once per task, before choose().
    void arrived(const PlacementTask& task);

    // The policy's scores have changed: clears all caches.
    void rescore();

  private:
    // Tasks that get equal scores, by the number of the node's state.
    struct Scores {
        std::vector<std::int32_t> by_state;
    };
    // Tasks that are equal, memory included.
    struct Kind {
        PlacementTask task;
        Scores* scores;
        Tournament nodes;
        std::uint64_t seen = 0;   // a version of the engine
        std::uint64_t epoch = 0;  // an epoch_ of this index; 0: never brought up to date
    };

    void follow_states();
    void note_state(std::size_t node);
    Kind& kind_of_task(const PlacementTask& task);
    void follow(Kind& kind);
    std::int32_t score(Kind& kind, std::size_t node);
    std::int32_t score(Scores& scores, std::uint32_t state, const NodeLoad& load,
                       const PlacementTask& task);
    [[nodiscard]] bool is_crowded() const;
    // Nothing if no node can take the task.
    std::optional<std::size_t> winner_without(Kind& kind, std::uint64_t random,
                                              std::span<const std::uint32_t> without) const;
    [[nodiscard]] std::size_t winner(const Kind& kind, std::uint64_t random) const;

    const PlacementEngine& engine_;
    PlacementPolicy& policy_;
    StateMemo<std::uint32_t> numbers_;  // of node states
    std::vector<std::uint32_t> state_;  // per node: the number of its state
    std::uint64_t states_seen_ = 0;     // a version of the engine
    std::uint64_t epoch_ = 1;           // counts rescore()
    std::unordered_map<PlacementTask, Scores, TaskHash> scores_;  // keys without memory
    std::unordered_map<PlacementTask, Kind, TaskHash> kinds_;
};

}  // namespace tessera

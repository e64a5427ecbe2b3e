// Replays tasks that arrive and end under a policy. A task that fits nowhere waits. It gives up in
// the end, or gets room by moves of running tasks.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "domain/placement/engine/policy.hpp"
#include "simulator/churn/churn_workload.hpp"
#include "simulator/replay/replay.hpp"

namespace tessera {

struct ChurnWindow {
    double from_s = 0;  // earlier tasks are not measured
    double to_s = 0;
    double patience_s = 0;  // a task that waits longer gives up
};

// Makes room for waiting tasks as `tessera defrag --for POD --apply` does, with the same planner. A
// move takes no time; the task's next run has its new GPUs before the old ones are released.
struct MoveRules {
    double after_s = 0;          // waiting time; also the interval of further attempts
    std::size_t most_moves = 1;  // for one task; for a gang, for each of its pods
    // Interval of checkpoints in a run; a moved task resumes from its last one. 0: no work is lost;
    // infinity: a moved task starts again from the beginning.
    double checkpoint_s = std::numeric_limits<double>::infinity();
};

// Figures of the tasks that arrived in the window; a gang counts once.
struct ChurnWaits {
    std::size_t came = 0;
    double mean_wait_s = 0;  // of all; a task that gave up waited its patience
    double p99_wait_s = 0;
    double waited = 0;          // part of the tasks that fitted nowhere on arrival
    double refused_demand = 0;  // part of the requested GPUs that belongs to tasks that gave up

    friend bool operator==(const ChurnWaits&, const ChurnWaits&) = default;
};

enum class ChurnSize { share, gpu, several, eight, gang };  // eight: eight or more
inline constexpr std::size_t kChurnSizes = 5;

struct ChurnMoves {
    std::size_t placed = 0;     // tasks in the window, with each pod of a gang, without moves
    std::size_t evictions = 0;  // in the window
    double lost = 0;            // part of all GPUs' time in the window: work that is done again
    // Waiting tasks that moves made room for in the window, by ChurnSize; a gang counts once.
    std::array<std::size_t, kChurnSizes> helped{};
    std::size_t plans = 0;   // plans that were computed, at any time
    std::size_t astray = 0;  // plans that the policy did not follow

    [[nodiscard]] double evicted_per_1000() const {
        return placed > 0 ? 1'000 * static_cast<double>(evictions) / static_cast<double>(placed)
                          : 0;
    }
    [[nodiscard]] std::size_t all_helped() const {
        return std::accumulate(helped.begin(), helped.end(), std::size_t{0});
    }
    friend bool operator==(const ChurnMoves&, const ChurnMoves&) = default;
};

struct ChurnResult {
    double allocated = 0;      // part of all GPUs, as the mean over the window's time
    double fragmentation = 0;  // FGD's F of all nodes, as the mean over the window's time
    ChurnWaits tasks;          // tasks without a gang
    ChurnWaits gangs;
    std::optional<ChurnMoves> moves;  // if there are rules for moves
    std::size_t decisions = 0;        // choices of a node, with or without a result; not in plans
    double seconds = 0;               // wall-clock time of the decisions

    [[nodiscard]] double decisions_per_second() const {
        return seconds > 0 ? static_cast<double>(decisions) / seconds : 0;
    }
    friend bool operator==(const ChurnResult&, const ChurnResult&) = default;
};

// Called during a run, with the part of its time that has passed.
using ChurnProgress = std::function<void(double part)>;

// Uses one thread. `seeds` as for replay(). Without `moves` no task is moved.
ChurnResult churn(const Workload& workload, std::span<const ChurnTask> tasks,
                  const ChurnWindow& window, const PlacementPolicyRow& policy,
                  const ReplaySeeds& seeds, const std::optional<MoveRules>& moves = {},
                  const ChurnProgress& progress = {});

}  // namespace tessera

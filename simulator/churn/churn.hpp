// Simulates tasks that arrive, run and end under a policy. A task that fits nowhere waits. It is
// placed when other tasks end or, with MoveRules, when running tasks are moved. After
// ChurnWindow::patience_s it gives up.
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

// What is measured, in simulated seconds from from_s until before to_s: waits of the tasks that
// arrive then, means of allocation and fragmentation over that time, and the moves made in it.
struct ChurnWindow {
    double from_s = 0;
    double to_s = 0;
    double patience_s = 0;  // a task that waits longer gives up
};

// Makes room for waiting tasks as `tessera defrag --for POD --apply` does, with the same planner. A
// move takes no time: the task's new GPUs are allocated, then the old ones are released.
struct MoveRules {
    double after_s = 0;  // seconds that a task waits before the first attempt, and between attempts
    std::size_t most_moves = 1;  // for one task; for a gang, for each of its pods
    // Interval of checkpoints in a run; a moved task resumes from its last one. 0: no work is lost;
    // infinity: a moved task starts again from the beginning.
    double checkpoint_s = std::numeric_limits<double>::infinity();
};

// Figures of the tasks that arrived in the window; a gang counts once.
struct ChurnWaits {
    std::size_t arrived = 0;
    double mean_wait_s = 0;  // of all; a task that gave up waited its patience
    double p99_wait_s = 0;
    // Fractions, 0 to 1: of the tasks, those that fitted nowhere on arrival; of the requested GPUs,
    // those of tasks that gave up.
    double waited = 0;
    double abandoned_demand = 0;

    friend bool operator==(const ChurnWaits&, const ChurnWaits&) = default;
};

// By the GPUs of a task: less than one, one, 2 to 7, 8 or more; gang: any gang.
enum class ChurnSize { share, gpu, several, eight_or_more, gang };
inline constexpr std::size_t kChurnSizes = 5;

struct ChurnMoves {
    // Tasks placed in the window. Each pod of a gang counts, later runs of a moved task do not.
    std::size_t placed = 0;
    std::size_t evictions = 0;  // in the window
    double lost_work = 0;       // done again after a move: fraction of the window's GPU time
    // Waiting tasks that moves made room for in the window, by ChurnSize; a gang counts once.
    std::array<std::size_t, kChurnSizes> helped{};
    // Not limited to the window:
    std::size_t plan_attempts = 0;  // with or without a result
    std::size_t deviations = 0;     // plans given up because the policy chose another GPU

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
    // Fractions of all GPUs, 0 to 1, as means over the window's time. Fragmentation: FGD's F.
    double allocated = 0;
    double fragmentation = 0;
    ChurnWaits tasks;  // tasks without a gang
    ChurnWaits gangs;
    std::optional<ChurnMoves> moves;  // if there are rules for moves
    // The policy's choices of a node, also those without a result; not those in plans.
    std::size_t decisions = 0;
    double seconds = 0;  // wall-clock time of the decisions

    [[nodiscard]] double decisions_per_second() const {
        return seconds > 0 ? static_cast<double>(decisions) / seconds : 0;
    }
    friend bool operator==(const ChurnResult&, const ChurnResult&) = default;
};

// Called on the calling thread after each arrival. `part`: the simulated time that has passed, as a
// fraction of to_s.
using ChurnProgress = std::function<void(double part)>;

// Uses one thread. `tasks` are in order of arrival. `seeds` as for replay(). Without `moves` no
// task is moved.
ChurnResult churn(const Workload& workload, std::span<const ChurnTask> tasks,
                  const ChurnWindow& window, const PlacementPolicyRow& policy,
                  const ReplaySeeds& seeds, const std::optional<MoveRules>& moves = {},
                  const ChurnProgress& progress = {});

}  // namespace tessera

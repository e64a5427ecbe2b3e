// Replays tasks that come and go under a policy: who fits nowhere waits, and gives up in the end,
// or gets room by moves of those that run.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "app/sim/churn_workload.hpp"
#include "app/sim/replay.hpp"
#include "domain/placement/fleet/policy.hpp"

namespace tessera {

struct ChurnWindow {
    double from_s = 0;  // what comes before is not measured
    double to_s = 0;
    double patience_s = 0;  // who waits longer gives up
};

// Room for those that wait, as `tessera defrag --for POD --apply` makes it: by the same planner.
// A move takes no time; the task's next run has its new cards before the old ones are given back.
struct MoveRules {
    double after_s = 0;  // of waiting; and again each so many seconds for as long as none is found
    std::size_t most_moves = 1;  // for one task; a gang may need so many for each of its pods
    // A task writes down what it has done each so many seconds of a run, and goes on from there
    // when it was moved: 0, and no work is lost; infinity, and it begins anew.
    double checkpoint_s = std::numeric_limits<double>::infinity();
};

// Of what came in the window; a gang counts once.
struct ChurnWaits {
    std::size_t came = 0;
    double mean_wait_s = 0;  // of all, who gave up having waited his patience
    double p99_wait_s = 0;
    double waited = 0;          // part of the tasks that fitted nowhere when they came
    double refused_demand = 0;  // part of the cards asked for, of tasks that gave up

    friend bool operator==(const ChurnWaits&, const ChurnWaits&) = default;
};

enum class ChurnSize { share, card, several, eight, gang };  // eight: and more
inline constexpr std::size_t kChurnSizes = 5;

struct ChurnMoves {
    std::size_t placed = 0;     // tasks in the window, the pods of gangs each; not those moved
    std::size_t evictions = 0;  // in the window
    double lost = 0;            // part of all cards' time in the window: work that is done again
    // That moves made room for in the window, by ChurnSize; a gang counts once.
    std::array<std::size_t, kChurnSizes> helped{};
    std::size_t plans = 0;   // that were sought, at any time
    std::size_t astray = 0;  // that the policy did not keep to

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
    double held = 0;           // part of all cards, in the mean over the window's time
    double fragmentation = 0;  // FGD's F of all nodes, the same
    ChurnWaits tasks;          // that are of no gang
    ChurnWaits gangs;
    std::optional<ChurnMoves> moves;  // where there are rules for them
    std::size_t decisions = 0;  // choices of a node, also where there was none; not those of plans
    double seconds = 0;         // that they took, by the clock

    [[nodiscard]] double decisions_per_second() const {
        return seconds > 0 ? static_cast<double>(decisions) / seconds : 0;
    }
    friend bool operator==(const ChurnResult&, const ChurnResult&) = default;
};

// Called as a run goes on, with the part of its time that is behind.
using ChurnTold = std::function<void(double part)>;

// One thread. `seeds` as for replay(). Without `moves` nobody is moved.
ChurnResult churn(const Workload& workload, std::span<const ChurnTask> tasks,
                  const ChurnWindow& window, const FleetPolicyRow& policy, const ReplaySeeds& seeds,
                  const std::optional<MoveRules>& moves = {}, const ChurnTold& told = {});

}  // namespace tessera

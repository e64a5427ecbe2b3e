// Replays tasks that come and go under a policy: who fits nowhere waits, and gives up in the end.
#pragma once

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

// Of what came in the window; a gang counts once.
struct ChurnWaits {
    std::size_t came = 0;
    double mean_wait_s = 0;  // of all, who gave up having waited his patience
    double p99_wait_s = 0;
    double waited = 0;          // part of the tasks that fitted nowhere when they came
    double refused_demand = 0;  // part of the cards asked for, of tasks that gave up
};

struct ChurnResult {
    double held = 0;   // part of all cards, in the mean over the window's time
    ChurnWaits tasks;  // that are of no gang
    ChurnWaits gangs;
};

// One thread. `seeds` as for replay().
ChurnResult churn(const Workload& workload, std::span<const ChurnTask> tasks,
                  const ChurnWindow& window, const FleetPolicyRow& policy,
                  const ReplaySeeds& seeds);

}  // namespace tessera

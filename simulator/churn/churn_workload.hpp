// Tasks that arrive and end: the pods of a trace with their run times, in a cluster of any load.
//
// A trace of 8,152 pods fills its own cluster of 6,212 GPUs to one percent, because most of its
// pods are short. So the pods are taken as typical: each pod of the list arrives repeatedly, at
// random instants (Poisson), at a rate at which all together request `load` of the GPUs. An empty
// cluster at the start would influence the results for long. Instead each pod is there as often as
// in the mean, with part of its run time behind it: the stationary state of M/G/infinity (Takacs,
// Introduction to the Theory of Queues, 1962, ch. 3).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/workload/workload.hpp"

namespace tessera {

struct ChurnTask {
    PlacementTask task;
    double comes_s = 0;  // arrival; 0: there from the start
    double lasts_s = 0;  // run time, from its placement
    int gang = 1;        // number of identical tasks that arrive, wait, are placed and end together
    NodeCap cap{};       // for its application, on one node

    friend bool operator==(const ChurnTask&, const ChurnTask&) = default;
};

struct ChurnOptions {
    double load = 1;         // mean request of all tasks, as a part of the GPUs
    double longest_s = 0;    // longer run times are cut to it
    double ends_s = 0;       // no task arrives later
    std::uint64_t seed = 0;  // of the random arrivals
};

// The most tasks in a run: they need some gigabytes.
inline constexpr double kMostChurnTasks = 50'000'000;

// Whether churn_tasks() would succeed; makes no tasks. unsupported: a gang's pods are not
// identical. invalid_argument: the trace has no times, no pod requests a GPU, or more than
// kMostChurnTasks would arrive in the mean.
Result<> check_churn_tasks(const Workload& workload, const ChurnOptions& options);

// In order of arrival; the tasks of the start in random order. Errors as check_churn_tasks().
Result<std::vector<ChurnTask>> churn_tasks(const Workload& workload, const ChurnOptions& options);

// The trace as recorded: each pod once, at its arrival and for its run time, counted from the first
// arrival. A pod with an unknown run time stays to the end. In order of arrival. Errors of the
// trace as churn_tasks(); invalid_argument if it has no arrival times.
Result<std::vector<ChurnTask>> recorded_tasks(const Workload& workload);

}  // namespace tessera

// Tasks that come and go: the pods of a trace, with the times for which they ran, in a cluster that
// is as full as one likes.
//
// A trace of 8,152 pods fills its own cluster of 6,212 cards to one percent, for most of its pods
// are short. So they are taken for what is typical: each pod of the list comes again and again, at
// random instants (Poisson), at a rate at which all together ask for `load` of the cards. The
// cluster does not begin empty, which it would long remember: at the start there are as many of
// each as there are in the mean, part of their time behind them (the stationary state of
// M/G/infinity; Takacs, Introduction to the Theory of Queues, 1962, ch. 3).
#pragma once

#include <cstdint>
#include <vector>

#include "app/sim/workload.hpp"

namespace tessera {

struct ChurnTask {
    Task task;
    double comes_s = 0;  // 0: there from the start
    double lasts_s = 0;  // from when it is placed
    int gang = 1;        // so many alike, which come, wait, are placed and leave together
    NodeCap cap{};       // of its application, on one node

    friend bool operator==(const ChurnTask&, const ChurnTask&) = default;
};

struct ChurnOptions {
    double load = 1;         // of the cards, that all ask for together in the mean
    double longest_s = 0;    // who lasted longer lasts that long
    double ends_s = 0;       // nobody comes later
    std::uint64_t seed = 0;  // of who comes when
};

// So many tasks of a run are held, and no more: some gigabytes.
inline constexpr double kMostChurnTasks = 50'000'000;

// Whether churn_tasks() can be had; it makes none. unsupported where a gang's pods are not alike;
// invalid_argument where the trace tells no times, none of its pods asks for a card, or more than
// kMostChurnTasks would come in the mean.
Result<> check_churn_tasks(const Workload& workload, const ChurnOptions& options);

// By the time that they come; those of the start in random order. Errors as check_churn_tasks().
Result<std::vector<ChurnTask>> churn_tasks(const Workload& workload, const ChurnOptions& options);

// The trace as it is: each pod once, when it came and for as long as it ran, counted from when the
// first came. Of which nobody tells how long it ran stays to the end. By the time that they come.
// Errors of the trace as churn_tasks(); invalid_argument where it does not tell when its pods came.
Result<std::vector<ChurnTask>> recorded_tasks(const Workload& workload);

}  // namespace tessera

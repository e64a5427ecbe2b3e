#include "testing/simulation/run.hpp"

#include <gtest/gtest.h>

namespace tessera::simulation {
namespace {

// Goal: a seed always gives the same run: the log is the same byte for byte, even with other runs
// in between; keeping a log does not change the run.
TEST(Run, SameSeedSameLog) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        const Outcome once = run({.seed = seed, .keep_log = true, .unpromised = {}});
        (void)run({.seed = seed + 100, .keep_log = false, .unpromised = {}});
        const Outcome again = run({.seed = seed, .keep_log = true, .unpromised = {}});
        const Outcome silent = run({.seed = seed, .keep_log = false, .unpromised = {}});
        EXPECT_GT(once.log.size(), 1000U);
        EXPECT_EQ(once.log, again.log);
        EXPECT_EQ(once.steps, silent.steps);
        EXPECT_EQ(once.faults, silent.faults);
        EXPECT_EQ(silent.log, "");
    }
    EXPECT_NE(run({.seed = 1, .keep_log = true, .unpromised = {}}).log,
              run({.seed = 2, .keep_log = true, .unpromised = {}}).log);
}

// Goal: with 60 seeds every enabled fault strikes, pods run, and no invariant is broken.
TEST(Run, EveryFaultStrikes) {
    FaultCounts sum{};
    std::uint64_t started = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const Outcome one = run({.seed = seed, .keep_log = false, .unpromised = {}});
        EXPECT_EQ(one.violation, "") << "replay: simulate --seed " << seed << " --log";
        started += one.started;
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum.at(i) += one.faults.at(i);
    }
    EXPECT_GT(started, 500U);
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const auto fault = static_cast<Fault>(i);
        const bool is_off = fault == Fault::frozen_leader;
        EXPECT_EQ(sum.at(i) == 0, is_off) << kFaultNames.at(i);
    }
}

}  // namespace
}  // namespace tessera::simulation

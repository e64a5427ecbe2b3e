// Goal: containers get the shares of a GPU's time that they were given, whatever kind of work they
// do. Method: processes that always want more run under an arbiter on the simulated driver. Their
// shares are measured over some seconds by that driver's clock, and printed. The kernel says how
// long a process had no core on a busy machine. The bounds are wide, because machines are shared;
// `./dev bench guard` measures the shares against their goals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "gpusim/test_support/stopped_process.hpp"
#include "guard/test_support/measured_shares.hpp"
#include "guard/test_support/workloads.hpp"

namespace tessera::guard {
namespace {

using gpusim::kMicrosecond;
using gpusim::kMillisecond;

// The process is stopped, so it never reports the end of its work.
Workload stopped(std::uint64_t ns) {
    return [ns](gpusim::Worker& worker) {
        worker.launch(ns);
        gpusim::stop_without_locks();
    };
}

// The deviation in percentage points that is no fault. It is lower for a small share, so that half
// of a share is always a fault.
double tolerance(double expected) {
    return std::min(5.0, expected / 4);
}

enum class Verdict { as_given, too_little, too_much, not_judged };

// What a tenant may have lost because it had no core to run on while the arbiter was late as well:
// its part of that time, and half as much again for later effects.
double excuse(double expected, double starved) {
    return 1.5 * expected * starved / 100;
}

// What may have been seen late, and is not paid back yet when the measurement ends.
double seen_late(double expected, double starved) {
    return expected * starved / 100 / 4;
}

// Less than expected is the guard's fault, except for what the excuse allows. More is its fault,
// unless others had less: what they do not use is available up to the compute limit.
Verdict judge_window(const std::vector<SharingTenant>& tenants, const Measured& measured,
                     const std::vector<double>& got) {
    Verdict verdict = Verdict::as_given;
    double unused = 0;
    for (std::size_t i = 0; i < tenants.size(); i++) {
        const double expected = tenants[i].expected;
        const double least = expected - tolerance(expected);
        const double starved = measured.starved_percents[i];
        std::printf("    wanted %.0f %%, got %.1f %%, had no core for %.1f %%\n", expected, got[i],
                    starved);
        unused += std::max(0.0, expected - got[i]);
        if (got[i] < least - excuse(expected, starved)) return Verdict::too_little;
        if (got[i] < least) verdict = Verdict::not_judged;
    }
    for (std::size_t i = 0; i < tenants.size(); i++) {
        const double most =
            std::min<double>(tenants[i].share.cores_limit, tenants[i].expected + unused);
        if (got[i] <= most + 5) continue;
        if (got[i] > most + 5 + seen_late(tenants[i].expected, measured.starved_percents[i]))
            return Verdict::too_much;
        verdict = Verdict::not_judged;
    }
    return verdict;
}

// The worst verdict of all windows.
Verdict judge(const std::vector<SharingTenant>& tenants, const Measured& measured) {
    Verdict verdict = Verdict::as_given;
    for (const std::vector<double>& got : measured.percents) {
        const Verdict now = judge_window(tenants, measured, got);
        if (now == Verdict::too_little || now == Verdict::too_much) return now;
        if (now == Verdict::not_judged) verdict = now;
    }
    return verdict;
}

// A failure that does not repeat is an accident of this machine; one that repeats is a fault. The
// result is not_judged only if every try was.
Verdict judge_shares(const std::vector<SharingTenant>& tenants, const Measuring& measuring = {}) {
    constexpr int kTries = 3;
    Verdict verdict = Verdict::not_judged;
    for (int tried = 0; tried < kTries; tried++) {
        const Verdict now = judge(tenants, measure_shares(tenants, measuring));
        if (now == Verdict::as_given) return now;
        if (now != Verdict::not_judged) verdict = now;
    }
    return verdict;
}

void expect_shares(const std::vector<SharingTenant>& tenants, const Measuring& measuring = {}) {
    const Verdict verdict = judge_shares(tenants, measuring);
    EXPECT_NE(verdict, Verdict::too_little);
    EXPECT_NE(verdict, Verdict::too_much);
    if (verdict == Verdict::not_judged) GTEST_SKIP() << "the machine is too busy to judge";
}

// Tests judge() itself: a guard that gives a container half of its share, or twice as much, never
// passes.
TEST(GuardShares, HalfAShareIsSeen) {
    const auto verdict_on = [](const std::vector<SharingTenant>& tenants) {
        return judge(tenants, measure_shares(tenants, {}));
    };
    EXPECT_NE(verdict_on({{{10, 10}, free_running(kMillisecond), 20},
                          {{80, 80}, free_running(kMillisecond), 80}}),
              Verdict::as_given);
    EXPECT_NE(verdict_on({{{5, 5}, launch_and_wait(kMillisecond), 10}}), Verdict::as_given);
    EXPECT_NE(verdict_on({{{40, 40}, free_running(kMillisecond), 20}}), Verdict::as_given);
}

TEST(GuardShares, FreeRunning) {
    expect_shares(
        {{{10, 10}, free_running(kMillisecond), 10}, {{90, 90}, free_running(kMillisecond), 90}});
}

// On a real GPU an arbiter that knew nothing of time slices gave 21 instead of 10 percent, and 44
// instead of 30.
TEST(GuardShares, InTimeSlices) {
    const Measuring in_slices{.slices = TimeSlices{}};
    expect_shares(
        {{{10, 100}, free_running(kMillisecond), 10}, {{90, 100}, free_running(kMillisecond), 90}},
        in_slices);
    expect_shares({{{30, 100}, launch_and_wait(kMillisecond), 30},
                   {{70, 100}, free_running(kMillisecond), 70}},
                  in_slices);
    expect_shares({{{30, 100}, free_running(60 * kMillisecond), 30},
                   {{70, 100}, free_running(200 * kMicrosecond), 70}},
                  in_slices);
}

TEST(GuardShares, LaunchAndWait) {
    expect_shares({{{10, 10}, launch_and_wait(kMillisecond), 10},
                   {{75, 75}, launch_and_wait(kMillisecond), 75}});
}

TEST(GuardShares, SmallKernels) {
    expect_shares({{{30, 30}, free_running(50 * kMicrosecond), 30},
                   {{70, 70}, free_running(50 * kMicrosecond), 70}});
}

TEST(GuardShares, LongKernelsBesideSmallOnes) {
    expect_shares({{{30, 30}, free_running(60 * kMillisecond), 30},
                   {{70, 70}, free_running(200 * kMicrosecond), 70}});
}

TEST(GuardShares, ACapHoldsAlone) {
    expect_shares({{{25, 25}, free_running(kMillisecond), 25}});
}

TEST(GuardShares, UnlimitedNeighboursGetTheRest) {
    expect_shares(
        {{{30, 30}, free_running(kMillisecond), 30}, {{0, 100}, free_running(kMillisecond), 70}});
}

TEST(GuardShares, WhatOneDoesNotUseOthersHave) {
    expect_shares({{{50, 100}, idle(), 0},
                   {{30, 100}, free_running(kMillisecond), 60},
                   {{20, 100}, free_running(kMillisecond), 40}});
}

TEST(GuardShares, MixedWaysOfWorking) {
    expect_shares({{{20, 20}, launch_and_wait(200 * kMicrosecond), 20},
                   {{30, 30}, free_running(5 * kMillisecond), 30},
                   {{50, 50}, free_running(100 * kMicrosecond), 50}});
}

TEST(GuardShares, EachWayToLaunch) {
    expect_shares({{{20, 20}, graphs(100 * kMicrosecond), 20},
                   {{30, 30}, cooperative(kMillisecond), 30},
                   {{50, 50}, launch_ex(kMillisecond), 50}});
}

// A container is charged for the time in which any of its work is on the GPU.
TEST(GuardShares, OverSeveralStreams) {
    expect_shares({{{20, 20}, over_streams(8, 100 * kMicrosecond), 20}});
    expect_shares({{{20, 20}, over_streams(2, 500 * kMicrosecond), 20},
                   {{80, 80}, free_running(kMillisecond), 80}});
}

TEST(GuardShares, StreamsThatAreWaitedFor) {
    expect_shares({{{20, 20}, over_streams(4, 200 * kMicrosecond, true), 20}});
    expect_shares({{{20, 20}, across_streams(200 * kMicrosecond), 20}});
}

TEST(GuardShares, StreamsThatWaitForCopies) {
    expect_shares({{{20, 20}, fed_by_copies(500 * kMicrosecond), 20}});
}

TEST(GuardShares, PausesBetweenLaunches) {
    expect_shares({{{30, 30}, busy_launching({50 * kMicrosecond}, 100 * kMicrosecond), 30}});
    expect_shares({{{30, 30}, busy_launching({50 * kMicrosecond}, 100 * kMicrosecond), 30},
                   {{70, 70}, free_running(kMillisecond), 70}});
}

TEST(GuardShares, SeveralThreads) {
    expect_shares({{{20, 20}, in_threads(4, 300 * kMicrosecond, false), 20}});
    expect_shares({{{20, 20}, in_threads(4, 300 * kMicrosecond, true), 20}});
}

// Windows of single seconds: processes that all took the same permit would get nothing in the next
// one.
TEST(GuardShares, ManyThatWaitForLongKernels) {
    using std::chrono_literals::operator""s;
    const Measuring in_seconds = {.window = 1s, .windows = 4};
    const Workload mixed = [](gpusim::Worker& worker) {
        worker.launch(30 * kMillisecond);
        worker.launch(10 * kMicrosecond);
        worker.wait();
    };
    const SharingTenant rest = {{80, 80}, free_running(kMillisecond), 80};
    expect_shares({{{20, 20}, in_threads(16, 30 * kMillisecond, false, true), 20}}, in_seconds);
    expect_shares({{{20, 20}, launch_and_wait(30 * kMillisecond), 20, 16}, rest}, in_seconds);
    expect_shares({{{20, 20}, mixed, 20, 16}, rest}, in_seconds);
}

// One container gets the GPU time that others leave to it, though they come and go.
TEST(GuardShares, WhatOthersLeaveNowAndThen) {
    const Workload now_and_then = bursts(1, 5 * kMillisecond, 45);
    const Measured measured = measure_shares({{{25, 100}, free_running(kMillisecond), 75},
                                              {{25, 100}, now_and_then, 9},
                                              {{25, 100}, now_and_then, 9},
                                              {{25, 100}, now_and_then, 9}},
                                             {});
    const double starved = std::ranges::max(measured.starved_percents);
    std::printf("    got %.1f %%, had no core for %.1f %%\n", measured.percents.front()[0],
                starved);
    EXPECT_GE(measured.percents.front()[0], 60 - starved);
}

TEST(GuardShares, SeveralProcesses) {
    expect_shares({{{20, 20}, free_running(kMillisecond), 20, 8},
                   {{80, 80}, free_running(kMillisecond), 80}});
}

// The GPU divides itself by processes, so it gives the one neighbour little. The neighbour has not
// waited for a permit, so its guarantee must not go to others.
TEST(GuardShares, ManyProcessesThatWait) {
    expect_shares({{{20, 20}, launch_and_wait(10 * kMillisecond), 20, 16},
                   {{80, 80}, free_running(kMillisecond), 80}});
}

// Processes take time to start, so they may want less than their part.
TEST(GuardShares, ProcessesThatEndAreCharged) {
    const SharingTenant rest = {{80, 80}, free_running(kMillisecond), 80};
    for (const SharingTenant& ending : {SharingTenant{{20, 20}, {}, 0, 4, 2 * kMillisecond},
                                        SharingTenant{{20, 20}, {}, 0, 8, 20 * kMillisecond}}) {
        const Measured measured = measure_shares({ending, rest}, {});
        EXPECT_LE(measured.percents.front()[0], 20 + tolerance(20));
        if (measured.starved_percents[1] < 10) {
            EXPECT_GE(measured.percents.front()[1], 80 - tolerance(80));
        }
    }
}

TEST(GuardShares, WhoIdlesTakesNothing) {
    std::vector<SharingTenant> tenants = {{{40, 60}, free_running(kMillisecond), 60},
                                          {{15, 100}, free_running(kMillisecond), 40}};
    tenants.resize(12, {{0, 100}, idle(), 0});
    expect_shares(tenants);
}

TEST(GuardShares, WhoIsStoppedTakesNothing) {
    using std::chrono_literals::operator""s;
    expect_shares({{{5, 5}, stopped(kMillisecond), 0},
                   {{10, 10}, free_running(kMillisecond), 10},
                   {{85, 85}, free_running(kMillisecond), 85}},
                  {.after = 7s});
}

TEST(GuardShares, Copies) {
    expect_shares({{{20, 20}, copies(std::size_t{1} << 20), 20}},
                  {.engine = gpusim::Engine::copies});
}

// A container that only copies leaves the engine for kernels to others, whatever its guarantee.
TEST(GuardShares, KernelsBesideCopies) {
    expect_shares({{{10, 100}, free_running(kMillisecond), 100},
                   {{90, 100}, copies(std::size_t{32} << 20), 0}});
}

}  // namespace
}  // namespace tessera::guard

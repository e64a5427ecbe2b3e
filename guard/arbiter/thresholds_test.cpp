// Goal: the thresholds of a tick: which container is still on the GPU, which pauses, which presses,
// what is remembered, and for how long. Method: one container on either side of each threshold,
// beside one that always wants the GPU.
#include <gtest/gtest.h>

#include "guard/arbiter/arbiter.hpp"

namespace tessera::guard {
namespace {

constexpr Millionths kPercent = kWhole / 100;
constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;

double percent(Millionths part) {
    return static_cast<double>(part) / kPercent;
}

// The container under test (kHim), and its neighbour, which always has a kernel on the GPU and
// waits for more.
class ThresholdsTest : public testing::Test {
  protected:
    static constexpr Arbiter::Id kHim = 1;
    static constexpr Arbiter::Id kNeighbour = 2;

    ThresholdsTest() {
        guarantee(30 * kPercent, 70 * kPercent);
        for (auto& [id, reading] : readings_)
            reading.processes = {SlotReading{}};
        tick(10 * kMs, {});
    }

    void guarantee(Millionths him, Millionths neighbour) {
        readings_[kHim].cores = him;
        readings_[kNeighbour].cores = neighbour;
    }
    // What the container did in a tick.
    struct Did {
        std::int64_t kernel_ns = 0;
        std::int64_t rests_ns = 0;  // from the end of the kernel to the end of the tick
        std::int64_t copy_ns = 0;
        std::int64_t waited_ns = 0;
        bool is_logged = true;
    };
    enum class Neighbour { computes, also_copies, waits, is_away };
    void tick(std::int64_t length_ns, const Did& did, Neighbour is = Neighbour::computes) {
        now_ += length_ns;
        ContainerReading& his = readings_[kHim];
        note(his, WorkKind::kernels, now_ - did.rests_ns, did.kernel_ns);
        note(his, WorkKind::copies, now_, did.copy_ns);
        if (!did.is_logged) his.processes[0].process.spans[0].clear();
        his.waited_ns += did.waited_ns;
        his.waits = did.waited_ns > 0;
        ContainerReading& neighbours = readings_[kNeighbour];
        const bool computes = is == Neighbour::computes || is == Neighbour::also_copies;
        note(neighbours, WorkKind::kernels, now_, computes ? length_ns : 0);
        note(neighbours, WorkKind::copies, now_, is == Neighbour::also_copies ? length_ns : 0);
        neighbours.waits = is != Neighbour::is_away;
        granted_ = arbiter_.decide(now_, readings_);
    }
    void ticks(int count, const Did& did, Neighbour is = Neighbour::computes) {
        for (int i = 0; i < count; i++)
            tick(10 * kMs, did, is);
    }
    std::int64_t balance(Arbiter::Id id, WorkKind kind = WorkKind::kernels) {
        return granted_.at(id).of[static_cast<int>(kind)].balance_ns;
    }
    double his_rate() { return percent(granted_.at(kHim).rate); }
    double neighbours_rate() { return percent(granted_.at(kNeighbour).rate); }

    static void note(ContainerReading& reading, WorkKind kind, std::int64_t end_ns,
                     std::int64_t busy_ns) {
        const auto of = static_cast<int>(kind);
        ProcessReading& process = reading.processes[0].process;
        process.in_flight_ns[of] += busy_ns;
        process.spans[of].clear();
        if (busy_ns > 0) process.spans[of] = {{end_ns - busy_ns, end_ns}};
    }

    Arbiter arbiter_;
    std::int64_t now_ = 1'000'000'000;
    Arbiter::Readings readings_;
    std::map<Arbiter::Id, Granted> granted_;
};

TEST_F(ThresholdsTest, WhoHadWorkHalfAMillisecondAgoIsOnTheGpu) {
    tick(10 * kMs, {8 * kMs, 450 * kUs});
    EXPECT_NEAR(neighbours_rate(), 70, 0.1);
    tick(10 * kMs, {8 * kMs, 550 * kUs});
    EXPECT_NEAR(neighbours_rate(), 100, 0.1) << "until the next tick";
    EXPECT_GE(his_rate(), 30) << "and the container can begin";
}

// A pause is 5 ms without work, and half of the tick.
TEST_F(ThresholdsTest, WhoDoesNotPauseKeepsHisClaim) {
    struct Row {
        std::int64_t tick_ns;
        std::int64_t busy_ns;
        bool is_pause;
    };
    for (const Row& row : {Row{10 * kMs, 5100 * kUs, false}, Row{10 * kMs, 4900 * kUs, true},
                           Row{20 * kMs, 10100 * kUs, false}, Row{20 * kMs, 9900 * kUs, true},
                           Row{6 * kMs, 1100 * kUs, false}, Row{6 * kMs, 900 * kUs, true}}) {
        for (int times = 0; times < 3; times++)
            tick(row.tick_ns, {row.busy_ns, 100 * kUs});
        EXPECT_EQ(neighbours_rate() > 99.9, row.is_pause) << row.tick_ns << " " << row.busy_ns;
    }
}

// The container is guaranteed 90 percent. It is alone in the first half of each tick.
TEST_F(ThresholdsTest, WhoDoesNotWaitHasRoomToGrow) {
    guarantee(90 * kPercent, 10 * kPercent);
    for (const std::int64_t busy_ns : {5500 * kUs, 6500 * kUs}) {
        ticks(100, {busy_ns}, Neighbour::is_away);
        tick(10 * kMs, {busy_ns}, Neighbour::waits);
        const double used = static_cast<double>(busy_ns) / (10 * kMs);
        EXPECT_NEAR(neighbours_rate(), 100 * (1 - used * 1.3 - 0.02), 0.1);
    }
}

TEST_F(ThresholdsTest, WhatWasUsedIsHalfForgottenIn50Ms) {
    guarantee(0, 0);
    ticks(3, {10 * kMs}, Neighbour::is_away);
    tick(kMs, {});
    EXPECT_NEAR(his_rate(), 100, 0.1) << "no more";
    tick(49 * kMs, {});
    EXPECT_NEAR(his_rate(), 100 * (0.5 * 1.3 + 0.02), 0.1);
    tick(50 * kMs, {});
    EXPECT_NEAR(his_rate(), 100 * (0.25 * 1.3 + 0.02), 0.1);
    tick(5000 * kMs, {});
    EXPECT_NEAR(his_rate(), 2, 0.1);
}

// A process died, and what it had on the GPU is lost.
TEST_F(ThresholdsTest, TheWorkOfTheDeadIsNotOnTheGpu) {
    ProcessReading& process = readings_[kHim].processes[0].process;
    process.since_ns[0] = now_;
    tick(10 * kMs, {8 * kMs, kMs});
    EXPECT_NEAR(neighbours_rate(), 70, 0.1);
    process.is_lost[0] = true;
    tick(10 * kMs, {8 * kMs, kMs});
    EXPECT_NEAR(neighbours_rate(), 100, 0.1);
}

// The neighbour has a small guarantee. In parallel, each gets half.
TEST_F(ThresholdsTest, WhoHasWorkNearlyAlwaysPresses) {
    guarantee(80 * kPercent, 20 * kPercent);
    ticks(100, {9750 * kUs, 100 * kUs});
    EXPECT_EQ(balance(kHim), 10 * kMs);
    ticks(100, {9850 * kUs, 100 * kUs});
    EXPECT_GE(balance(kHim), 250 * kMs);
    const std::int64_t saved = balance(kHim);
    tick(10 * kMs, {9 * kMs, 100 * kUs});
    EXPECT_GE(balance(kHim), saved - 10 * kMs) << "it is not lost at once";
    tick(10 * kMs, {});
    EXPECT_EQ(balance(kHim), 10 * kMs) << "but it is lost in a pause";
}

// The container had too little of one kind of work, and more than enough of the other.
TEST_F(ThresholdsTest, WhoWaitsDoesNotWaitForWhatHeHas) {
    guarantee(20 * kPercent, 80 * kPercent);
    ticks(300, {.kernel_ns = 6 * kMs, .copy_ns = kMs, .waited_ns = 9 * kMs});
    EXPECT_LT(balance(kHim), 0);
    EXPECT_EQ(balance(kHim, WorkKind::copies), 200 * kMs);
}

// The container need not wait before the first kernel of a burst that is within its share.
TEST_F(ThresholdsTest, WhoUsesLessThanHisIsAheadAtOnce) {
    guarantee(90 * kPercent, 10 * kPercent);
    ticks(3, {6 * kMs});
    EXPECT_EQ(balance(kHim), 10 * kMs);
}

// The container is between two kernels of a program that waits for each.
TEST_F(ThresholdsTest, WhoHadWorkTwoMillisecondsAgoIsOwed) {
    guarantee(80 * kPercent, 20 * kPercent);
    ticks(10, {8 * kMs, 1900 * kUs});
    EXPECT_LT(balance(kNeighbour), -20 * kMs);
    tick(10 * kMs, {.kernel_ns = 8 * kMs, .is_logged = false});
    EXPECT_LT(balance(kNeighbour), -20 * kMs) << "it may have been the last of the tick";
    tick(10 * kMs, {7 * kMs, 2100 * kUs});
    EXPECT_EQ(balance(kNeighbour), 0);
}

// The container waits for kernels, and its neighbour is the only one that copies.
TEST_F(ThresholdsTest, CopiesAreNotOwedToWhoWaitsForKernels) {
    guarantee(40 * kPercent, 60 * kPercent);
    ticks(9, {.kernel_ns = 10 * kMs, .waited_ns = kMs}, Neighbour::also_copies);
    EXPECT_LT(balance(kNeighbour, WorkKind::copies), -20 * kMs)
        << "the container may still want copies";
    ticks(10, {.kernel_ns = 10 * kMs, .waited_ns = kMs}, Neighbour::also_copies);
    EXPECT_LT(balance(kHim), 0);
    EXPECT_EQ(balance(kNeighbour, WorkKind::copies), 10 * kMs);
}

// A tenth of a second after the container's last work, the GPU belongs to its neighbour, which may
// then be ahead.
TEST_F(ThresholdsTest, WhoIsAloneForLongHasMoreThanTheGpu) {
    tick(10 * kMs, {10 * kMs});
    for (int rests = 1; rests < 10; rests++) {
        tick(10 * kMs, {});
        EXPECT_LE(neighbours_rate(), 100) << rests;
    }
    tick(10 * kMs, {});
    EXPECT_EQ(granted_.at(kNeighbour).rate, kAloneRate);
    EXPECT_LE(his_rate(), 100);
    readings_[kNeighbour].cores_limit = 99 * kPercent;
    tick(10 * kMs, {});
    EXPECT_LE(neighbours_rate(), 99);
}

// Time that no container wants goes to one that may want it soon, however many others do not use
// the GPU.
TEST_F(ThresholdsTest, WhoIdlesTakesNothingOfWhatNobodyWants) {
    guarantee(0, 0);
    for (Arbiter::Id idler = 10; idler < 40; idler++)
        readings_[idler] = {};
    tick(10 * kMs, {6 * kMs}, Neighbour::is_away);
    const std::int64_t before = balance(kHim);
    tick(10 * kMs, {6 * kMs}, Neighbour::is_away);
    EXPECT_GE(balance(kHim) - before, 3 * kMs);
}

TEST_F(ThresholdsTest, NothingIsKnownOfMoreThanASecond) {
    ticks(3, {10 * kMs});
    const std::int64_t before = balance(kHim);
    tick(1001 * kMs, {1001 * kMs});
    EXPECT_EQ(balance(kHim), before);
    tick(999 * kMs, {999 * kMs});
    EXPECT_LT(balance(kHim), before - 150 * kMs);
}

// Next to nothing in flight does not show a container's own part of it.
TEST_F(ThresholdsTest, APartIsToldByAHundredthOfATick) {
    tick(10 * kMs, {95 * kUs});
    EXPECT_EQ(granted_.at(kHim).of[0].part, kWhole);
    tick(10 * kMs, {105 * kUs});
    EXPECT_NEAR(percent(granted_.at(kHim).of[0].part), 50, 0.1);
}

}  // namespace
}  // namespace tessera::guard

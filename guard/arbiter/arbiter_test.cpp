// Goal: later ticks correct the errors of a tick, so that over time a GPU's time goes to the
// containers that are guaranteed it, and the rest goes by weight. Method: containers with simulated
// use, tick by tick.
#include "guard/arbiter/arbiter.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera::guard {
namespace {

constexpr std::int64_t kTickNs = 10'000'000;
constexpr Millionths kPercent = kWhole / 100;

// Containers that always want the GPU, and get it in turn while their balance is above zero.
class ArbiterTest : public testing::Test {
  protected:
    struct Tenant {
        Millionths cores;
        Millionths cores_limit;
        bool is_idle = false;
        int burst = 0;  // if not 0: this many steps of 0.1 ms with work,
        int pause = 0;  // then this many without, repeatedly
    };

    static constexpr std::int64_t kStepNs = 100'000;

    // Where a tenant with bursts is: the steps of work or of pause that are left.
    struct Phase {
        double left = 0;
        int rests = 0;

        [[nodiscard]] bool is_over(const Tenant& tenant) {
            if (tenant.burst == 0) return false;
            if (rests > 0 && --rests > 0) return true;
            if (left <= 0) left = tenant.burst;
            return false;
        }
        void did(const Tenant& tenant, double part) {
            if (tenant.burst != 0 && (left -= part) <= 1e-9) rests = tenant.pause;
        }
    };

    std::map<Arbiter::Id, double> run(const std::vector<Tenant>& tenants, int ticks) {
        std::vector<std::int64_t>& in_flight = in_flight_;
        std::vector<std::int64_t>& waited = waited_;
        in_flight.resize(tenants.size());
        waited.resize(tenants.size());
        std::vector<double> used(tenants.size());
        std::vector<Phase> phases(tenants.size());
        std::vector<std::vector<Span>> spans(tenants.size());
        std::vector<bool> is_running(tenants.size());  // now
        std::vector<bool> is_waiting(tenants.size());
        std::map<Arbiter::Id, Granted> granted;
        for (int tick = 0; tick <= ticks; tick++) {
            std::map<Arbiter::Id, ContainerReading> readings;
            for (std::size_t i = 0; i < tenants.size(); i++) {
                ContainerReading& reading = readings[i];
                reading.cores = tenants[i].cores;
                reading.cores_limit = tenants[i].cores_limit;
                reading.waited_ns = waited[i];
                reading.waits = is_waiting[i];
                ProcessReading& process = reading.processes.emplace_back(SlotReading{}).process;
                process.in_flight_ns[0] = in_flight[i];
                if (is_running[i]) process.since_ns[0] = now_ + tick_ns_ - kStepNs;
                process.spans[0] = std::move(spans[i]);
                spans[i].clear();
            }
            now_ += tick_ns_;
            granted = arbiter_.decide(now_, readings);
            auto balance = granted;
            for (int step = 0; step < tick_ns_ / kStepNs; step++) {
                std::vector<std::size_t> running;
                is_running.assign(tenants.size(), false);
                is_waiting.assign(tenants.size(), false);
                for (std::size_t i = 0; i < tenants.size(); i++) {
                    balance[i].of[0].balance_ns += part_of(kStepNs, granted[i].rate);
                    if (tenants[i].is_idle || phases[i].is_over(tenants[i])) continue;
                    if (balance[i].of[0].balance_ns > 0) {
                        running.push_back(i);
                    } else {
                        waited[i] += kStepNs;
                        is_waiting[i] = true;
                    }
                }
                for (const std::size_t i : running) {
                    is_running[i] = true;
                    const std::int64_t start = now_ + step * kStepNs;
                    if (has_logs_) spans[i].push_back({start, start + kStepNs});
                    in_flight[i] += kStepNs;
                    const auto own =
                        static_cast<double>(kStepNs) / static_cast<double>(running.size());
                    used[i] += own;
                    phases[i].did(tenants[i], 1.0 / static_cast<double>(running.size()));
                    balance[i].of[0].balance_ns -= static_cast<std::int64_t>(own);
                }
            }
        }
        std::map<Arbiter::Id, double> percents;
        const double all_ns = static_cast<double>(ticks + 1) * static_cast<double>(tick_ns_);
        for (std::size_t i = 0; i < tenants.size(); i++)
            percents[i] = 100 * used[i] / all_ns;
        return percents;
    }

    std::int64_t tick_ns_ = kTickNs;
    bool has_logs_ = true;
    std::vector<std::int64_t> in_flight_;
    std::vector<std::int64_t> waited_;
    Arbiter arbiter_{kNoTimeSlices};
    std::int64_t now_ = 1'000'000'000;
};

TEST_F(ArbiterTest, CapsComeOutExactly) {
    auto got = run({{10 * kPercent, 10 * kPercent}, {60 * kPercent, 60 * kPercent}}, 1000);
    EXPECT_NEAR(got[0], 10, 0.5);
    EXPECT_NEAR(got[1], 60, 0.5);
}

// Both begin with the tick, so they overlap more often than by chance.
TEST_F(ArbiterTest, WithoutLogsTheyCannotBeExact) {
    has_logs_ = false;
    auto got = run({{10 * kPercent, 10 * kPercent}, {60 * kPercent, 60 * kPercent}}, 1000);
    EXPECT_NEAR(got[0], 10, 3);
    EXPECT_NEAR(got[1], 60, 3);
    EXPECT_LE(got[0], 10.1) << "never more";
}

TEST_F(ArbiterTest, WhatIsLeftGoesByWeight) {
    auto got = run({{20 * kPercent, kWhole}, {20 * kPercent, kWhole}, {0, kWhole}}, 1000);
    EXPECT_NEAR(got[0], got[1], 0.5);
    EXPECT_NEAR(got[0], 20 + 60 * 2 / 5.0, 2);
    EXPECT_NEAR(got[0] + got[1] + got[2], 100, 1);
}

TEST_F(ArbiterTest, WhoPausesLeavesTheGpuToOthers) {
    auto got = run({{50 * kPercent, kWhole, true}, {20 * kPercent, kWhole}}, 300);
    EXPECT_GT(got[1], 97);
    got = run({{50 * kPercent, kWhole}, {20 * kPercent, kWhole}}, 300);
    EXPECT_NEAR(got[0], 71.4, 3) << "and the first one gets its part again at once";
}

// Bursts of 0.3, 5 and 30 ms, from containers with large and small guarantees: the GPU never waits
// for them.
TEST_F(ArbiterTest, WhatWhoComesAndGoesLeavesIsForTheOthers) {
    for (const int burst : {3, 50, 300}) {
        for (const Millionths sure : {20 * kPercent, 80 * kPercent}) {
            SCOPED_TRACE(std::to_string(burst) + " " + std::to_string(sure));
            auto got = run({{20 * kPercent, kWhole},
                            {sure, kWhole, false, burst, 4 * burst},
                            {0, kWhole, false, burst, 9 * burst}},
                           1000);
            EXPECT_GE(got[0] + got[1] + got[2], 90);
            EXPECT_GE(got[1], 13) << "it wants 20";
            EXPECT_GE(got[0], 60);
        }
    }
}

// A container whose burst ends within a tick is known to be done with the GPU by the next one.
TEST_F(ArbiterTest, WhatABurstLeavesIsForTheOthersByTheNextTick) {
    auto got = run({{25 * kPercent, kWhole}, {75 * kPercent, kWhole, false, 200, 500}}, 1000);
    EXPECT_GE(got[0] + got[1], 93.5);
}

// A container that rests between bursts has no claim to what it is only allowed to begin with. None
// of that is taken from a container that always wants more.
TEST_F(ArbiterTest, WhoRestsTakesNothingFromWhoIsSure) {
    struct Row {
        int burst;
        int pause;
    };
    for (const std::int64_t tick_ns : {kTickNs / 2, kTickNs}) {
        for (const auto& [burst, pause] : {Row{50, 117}, Row{50, 83}, Row{10, 40}}) {
            for (const Millionths sure : {Millionths{0}, 10 * kPercent}) {
                SCOPED_TRACE(testing::Message()
                             << tick_ns << " " << burst << " " << pause << " " << sure);
                tick_ns_ = tick_ns;
                auto got =
                    run({{sure, kWhole, false, burst, pause}, {90 * kPercent, kWhole}}, 1000);
                EXPECT_GE(got[1], sure == 0 ? 95 : 87);
                EXPECT_GE(got[0] + got[1], 97);
            }
        }
    }
}

// What it did not want is not saved up for it either.
TEST_F(ArbiterTest, WhoRestedIsNotAheadForLong) {
    for (const std::int64_t tick_ns : {kTickNs / 2, kTickNs}) {
        SCOPED_TRACE(tick_ns);
        tick_ns_ = tick_ns;
        const auto second = static_cast<int>(1'000'000'000 / tick_ns);
        run({{30 * kPercent, kWhole, false, 10, 32}, {70 * kPercent, kWhole}}, second);
        auto got = run({{30 * kPercent, kWhole}, {70 * kPercent, kWhole}}, second);
        EXPECT_NEAR(got[0], 30, 2);
        EXPECT_NEAR(got[1], 70, 2);
    }
}

// A container does not pay for time that it used while no other container wanted it.
TEST_F(ArbiterTest, WhoHadWhatNobodyWantedOwesNothing) {
    run({{20 * kPercent, kWhole}, {80 * kPercent, kWhole, true}}, 300);
    auto got = run({{20 * kPercent, kWhole}, {80 * kPercent, kWhole}}, 20);
    EXPECT_NEAR(got[0], 20, 4);
    EXPECT_NEAR(got[1], 80, 4);
}

// It is unknown which container wanted what in the gap.
TEST_F(ArbiterTest, AGapIsNeitherPaidNorCharged) {
    const std::vector<Tenant> tenants = {{20 * kPercent, kWhole}, {80 * kPercent, kWhole}};
    run(tenants, 100);
    now_ += 9'000'000'000;
    auto got = run(tenants, 20);
    EXPECT_NEAR(got[0], 20, 4);
    EXPECT_NEAR(got[1], 80, 4);
}

// Containers that sleep, have ended, or never used the GPU.
TEST_F(ArbiterTest, WhoIdlesHasNoClaim) {
    constexpr int kIdlers = 30;
    std::vector<Tenant> tenants = {{40 * kPercent, 60 * kPercent}, {15 * kPercent, kWhole}};
    tenants.resize(2 + kIdlers, {kPercent, kWhole, true});
    auto got = run(tenants, 500);
    EXPECT_NEAR(got[0], 60, 1);
    EXPECT_NEAR(got[1], 40, 1);
    for (Tenant& tenant : tenants)
        tenant.cores = 0;
    tenants[0] = {0, kWhole, true};
    got = run(tenants, 500);
    EXPECT_GT(got[1], 97);
}

// A container that has idled until nothing is saved for it reaches its guarantee within some ticks.
TEST_F(ArbiterTest, WhoBeginsHasWhatHeIsSureOfAtOnce) {
    const auto beside_one = [&](bool idles, int ticks) {
        return run({{50 * kPercent, kWhole, idles}, {0, kWhole, idles}, {20 * kPercent, kWhole}},
                   ticks);
    };
    beside_one(true, 500);
    EXPECT_GE(beside_one(false, 9)[0], 40) << "all three have a small initial balance";
    auto got = beside_one(false, 9);
    EXPECT_GE(got[0], 50);
    EXPECT_GE(got[1], 3) << "a container without a guarantee has its part by weight";
}

// The time of a container's parallel processes counts once.
TEST_F(ArbiterTest, BusyIsTheUnion) {
    constexpr int kProcesses = 8;
    std::map<Arbiter::Id, ContainerReading> readings;
    for (int slot = 0; slot < kProcesses; slot++)
        readings[1].processes.push_back({.slot = slot, .process = {}});
    arbiter_.decide(now_ += kTickNs, readings);
    for (auto& [slot, process] : readings[1].processes) {
        process.in_flight_ns[0] += kTickNs / 4;
        process.spans[0] = {{now_ + kTickNs / 2 + slot, now_ + kTickNs * 3 / 4}};
    }
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_NEAR(static_cast<double>(arbiter_.busy_ns(1, WorkKind::kernels)), 0.25 * kTickNs, 40);
    EXPECT_NEAR(static_cast<double>(arbiter_.used_ns(1, WorkKind::kernels)), 0.25 * kTickNs, 40);
    for (auto& [slot, process] : readings[1].processes) {
        process.in_flight_ns[0] += kTickNs / 2;
        process.spans[0].clear();
    }
    const std::int64_t before = arbiter_.busy_ns(1, WorkKind::kernels);
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_NEAR(static_cast<double>(arbiter_.busy_ns(1, WorkKind::kernels) - before),
                kTickNs * (1 - 1.0 / 256), 2)
        << "as if they came independently";
}

// Two containers always want more, and each gets half of the GPU. Returns the balance, after a
// second, of the one with a guarantee of 80 percent.
std::int64_t balance_after_half_a_gpu(Millionths cores_limit) {
    Arbiter arbiter(kNoTimeSlices);
    std::int64_t now = 1'000'000'000;
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].cores = 80 * kPercent;
    readings[1].cores_limit = cores_limit;
    readings[2].cores = 20 * kPercent;
    readings[1].processes = readings[2].processes = {SlotReading{}};
    arbiter.decide(now, readings);
    std::int64_t balance = 0;
    for (int tick = 0; tick < 100; tick++) {
        readings[1].processes[0].process.in_flight_ns[0] += kTickNs;
        readings[2].processes[0].process.in_flight_ns[0] += kTickNs;
        balance = arbiter.decide(now += kTickNs, readings).at(1).of[0].balance_ns;
    }
    return balance;
}

// A container with many processes can take more than its share of the GPU. A neighbour that always
// wants more gets back what it lost by that, while the container owes it.
TEST_F(ArbiterTest, WhoAlwaysWantsMoreCatchesUp) {
    EXPECT_NEAR(static_cast<double>(balance_after_half_a_gpu(kWhole)), 100 * 0.3 * kTickNs,
                3 * kTickNs);
}

// Otherwise the container would get far more than its compute limit in the following seconds.
TEST_F(ArbiterTest, NoCatchingUpAboveTheLimit) {
    EXPECT_EQ(balance_after_half_a_gpu(80 * kPercent), kMaxLagBelowLimitNs);
}

// The kernel balances, by tick, of a container that is guaranteed 10 percent and always has
// kernels. Its neighbour always copies, and after a second has kernels as well.
std::vector<std::int64_t> balances_beside_copies(Millionths cores_limit) {
    constexpr int kTicks = 200;
    Arbiter arbiter(kNoTimeSlices);
    std::int64_t now = 1'000'000'000;
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].cores = 10 * kPercent;
    readings[1].cores_limit = cores_limit;
    readings[2].cores = 90 * kPercent;
    readings[1].processes = readings[2].processes = {SlotReading{}};
    ProcessReading& computes = readings[1].processes[0].process;
    ProcessReading& copies = readings[2].processes[0].process;
    std::vector<std::int64_t> balances;
    for (int tick = 0; tick < kTicks; tick++) {
        const Span all = {now - kTickNs, now};
        computes.in_flight_ns[0] += kTickNs;
        computes.spans[0] = {all};
        copies.in_flight_ns[1] += kTickNs;
        copies.spans[1] = {all};
        if (tick >= kTicks / 2) {
            copies.in_flight_ns[0] += kTickNs;
            copies.spans[0] = {all};
        }
        balances.push_back(arbiter.decide(now, readings).at(1).of[0].balance_ns);
        now += kTickNs;
    }
    return balances;
}

// Otherwise the GPU's engine for kernels would be idle because of a container that only copies.
TEST_F(ArbiterTest, WhoOnlyCopiesLeavesKernelsToOthers) {
    const auto balances = balances_beside_copies(kWhole);
    EXPECT_LT(balances[9], kMaxBalanceNs) << "a new container may still want kernels";
    for (std::size_t tick = 10; tick < 100; tick++)
        EXPECT_EQ(balances[tick], kMaxBalanceNs) << tick;
    EXPECT_LE(balances[110], 0) << "both want kernels again";
    EXPECT_LE(balances.back(), -200'000'000) << "and paid for: 40 percent of each tick";
    EXPECT_LE(balances_beside_copies(10 * kPercent)[99], -500'000'000) << "a compute limit applies";
}

// What a container did of another kind before does not hide what it does now.
TEST_F(ArbiterTest, WhatItUsesIsKnownWhenItTurnsToCopies) {
    const auto rate_beside_copies = [](int ticks_of_kernels) {
        Arbiter arbiter(kNoTimeSlices);
        std::int64_t now = 1'000'000'000;
        std::map<Arbiter::Id, ContainerReading> readings;
        readings[1].cores = 60 * kPercent;
        readings[2].cores = 10 * kPercent;
        readings[1].processes = readings[2].processes = {SlotReading{}};
        Millionths rate = 0;
        for (int tick = -ticks_of_kernels; tick < 50; tick++) {
            auto& mine = readings[1].processes[0].process.in_flight_ns;
            if (tick < 0) {
                mine[0] += kTickNs;
            } else {
                mine[1] += kTickNs * 7 / 10;
            }
            readings[1].processes[0].process.since_ns[tick < 0 ? 0 : 1] = now;
            readings[2].processes[0].process.since_ns[0] = now;
            readings[2].processes[0].process.in_flight_ns[0] += kTickNs;
            rate = arbiter.decide(now += kTickNs, readings).at(2).rate;
        }
        return rate;
    };
    EXPECT_LE(rate_beside_copies(0), 20 * kPercent);
    EXPECT_NEAR(rate_beside_copies(100), rate_beside_copies(0), 5 * kPercent);
}

// The process begins after the others were read, and soon ends.
TEST_F(ArbiterTest, ANewProcessIsChargedFromItsBeginning) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].processes = {SlotReading{}};
    arbiter_.decide(now_ += kTickNs, readings);
    readings[1].processes = {{.slot = 1, .process = {.in_flight_ns = {kTickNs / 2}}}};
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), kTickNs / 2);
}

TEST_F(ArbiterTest, WhatADeadProcessHadInFlightIsCountedOnce) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].processes = {SlotReading{}};
    ProcessReading& process = readings[1].processes[0].process;
    arbiter_.decide(now_ += kTickNs, readings);
    process.in_flight_ns[0] = kTickNs / 4;
    arbiter_.decide(now_ += kTickNs, readings);
    process.in_flight_ns[0] = process.lost_ns[0] = kTickNs;
    process.is_lost[0] = true;
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), kTickNs);
    process = {};
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), kTickNs);
}

// A region that could not be read at first may belong to a container that had worked for long.
TEST_F(ArbiterTest, WhatWasNotReadIsNotKnownToBeNew) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].is_read = false;
    arbiter_.decide(now_ += kTickNs, readings);
    readings[1].is_read = true;
    readings[1].processes = {{.slot = 1, .process = {.in_flight_ns = {100 * kTickNs}}}};
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), 0);
}

TEST_F(ArbiterTest, ALongPauseIsNotSavedUp) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].cores = 50 * kPercent;
    for (int tick = 0; tick < 1000; tick++) {
        now_ += kTickNs;
        const auto granted = arbiter_.decide(now_, readings);
        EXPECT_LE(granted.at(1).of[0].balance_ns, kMaxBalanceNs);
    }
}

TEST_F(ArbiterTest, ADebtHasABound) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].cores = 10 * kPercent;
    readings[1].cores_limit = 10 * kPercent;
    readings[1].processes = {SlotReading{}};
    std::int64_t balance = 0;
    for (int tick = 0; tick < 1000; tick++) {
        now_ += kTickNs;
        readings[1].processes[0].process.in_flight_ns[0] += kTickNs;  // a kernel of ten seconds
        balance = arbiter_.decide(now_, readings).at(1).of[0].balance_ns;
    }
    EXPECT_EQ(balance, -kMaxDebtNs);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), 999 * kTickNs)
        << "all of it is accounted for";
}

// A work interval counts until more is known of it. Then only the part of it that was no work is
// undone, and nothing that was charged before it.
TEST_F(ArbiterTest, WhatTurnsOutToBeNoWorkIsGivenBack) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].cores = 50 * kPercent;
    readings[1].cores_limit = 50 * kPercent;
    readings[1].processes = {SlotReading{}};
    ProcessReading& process = readings[1].processes[0].process;
    process.in_flight_ns[0] = 3 * kTickNs;
    arbiter_.decide(now_ += kTickNs, readings);
    process.since_ns[0] = now_;
    for (int tick = 0; tick < 30; tick++) {
        process.in_flight_ns[0] += kTickNs;
        arbiter_.decide(now_ += kTickNs, readings);
    }
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), 30 * kTickNs);
    process.since_ns[0] = 0;
    process.in_flight_ns[0] = 5 * kTickNs;
    auto granted = arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), 2 * kTickNs);
    EXPECT_GT(granted.at(1).of[0].balance_ns, 0);
    EXPECT_LE(granted.at(1).of[0].balance_ns, kMaxLagNs);
    process.in_flight_ns[0] = 0;
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), 2 * kTickNs) << "that was known for good";
}

// A container has a kernel of two seconds, and then a work interval that turns out to be no work.
// Its balance is then as without that interval: debt beyond the largest is forgiven only once.
TEST_F(ArbiterTest, WhatIsGivenBackPaysNoOtherDebt) {
    const auto balance_after = [](int ticks_of_no_work) {
        Arbiter arbiter(kNoTimeSlices);
        std::int64_t now = 1'000'000'000;
        std::map<Arbiter::Id, ContainerReading> readings;
        readings[1].cores = 20 * kPercent;
        readings[1].cores_limit = 20 * kPercent;
        readings[1].processes = {SlotReading{}};
        ProcessReading& process = readings[1].processes[0].process;
        arbiter.decide(now, readings);
        constexpr int kWork = 80;
        constexpr int kTicks = 200;
        for (int tick = 0; tick < kWork; tick++) {
            process.in_flight_ns[0] += kTickNs;
            arbiter.decide(now += kTickNs, readings);
        }
        const std::int64_t known = process.in_flight_ns[0];
        process.since_ns[0] = ticks_of_no_work > 0 ? now : 0;
        for (int tick = 0; tick < kTicks; tick++) {
            if (tick < ticks_of_no_work) process.in_flight_ns[0] += kTickNs;
            arbiter.decide(now += kTickNs, readings);
        }
        process.in_flight_ns[0] = known;
        process.since_ns[0] = 0;
        return arbiter.decide(now += kTickNs, readings).at(1).of[0].balance_ns;
    };
    EXPECT_LT(balance_after(0), 0);
    EXPECT_NEAR(static_cast<double>(balance_after(200)), static_cast<double>(balance_after(0)),
                2.0 * kTickNs);
}

TEST_F(ArbiterTest, CopiesAreNotSavedUpByWhoWantsKernels) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].cores = 50 * kPercent;
    readings[1].cores_limit = 50 * kPercent;
    readings[1].waits = true;
    readings[1].processes = {SlotReading{}};
    std::map<Arbiter::Id, Granted> granted;
    for (int tick = 0; tick < 500; tick++) {
        readings[1].waited_ns += kTickNs / 2;
        readings[1].processes[0].process.in_flight_ns[0] += kTickNs / 2;
        granted = arbiter_.decide(now_ += kTickNs, readings);
    }
    EXPECT_LE(granted.at(1).of[static_cast<int>(WorkKind::copies)].balance_ns, kMaxLagNs);
}

TEST_F(ArbiterTest, ContainersComeAndGo) {
    std::map<Arbiter::Id, ContainerReading> readings;
    EXPECT_TRUE(arbiter_.decide(now_, readings).empty());
    readings[7].processes = {{.slot = 3, .process = {.in_flight_ns = {5'000'000'000}}}};
    now_ += kTickNs;
    EXPECT_EQ(arbiter_.decide(now_, readings).at(7).of[0].balance_ns, 0)
        << "its use counts from here on";
    EXPECT_EQ(arbiter_.used_ns(7, WorkKind::kernels), 0);
    readings.clear();
    now_ += kTickNs;
    EXPECT_TRUE(arbiter_.decide(now_, readings).empty());
    EXPECT_EQ(arbiter_.decide(now_, readings).size(), 0U) << "no time has passed";
}

// There are more processes than are counted individually, and all of them had work half of the
// time. Another container's process had work all of the time.
TEST_F(ArbiterTest, ManyProcessesCountTogether) {
    constexpr int kProcesses = 400;
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[2].processes = {SlotReading{}};
    for (int slot = 0; slot < kProcesses; slot++)
        readings[1].processes.push_back({.slot = slot, .process = {}});
    for (int tick = 0; tick < 100; tick++) {
        now_ += kTickNs;
        for (auto& [slot, process] : readings[1].processes)
            process.in_flight_ns[0] += kTickNs / 2;
        readings[2].processes[0].process.in_flight_ns[0] += kTickNs;
        arbiter_.decide(now_, readings);
    }
    const auto used = [&](Arbiter::Id id) {
        return static_cast<double>(arbiter_.used_ns(id, WorkKind::kernels));
    };
    EXPECT_NEAR((used(1) + used(2)) / (99.0 * kTickNs), 1, 0.001) << "all time is attributed";
    EXPECT_NEAR(used(1) / used(2), kProcesses / 2.0, 2);
}

TEST_F(ArbiterTest, WhoIsNotInTheReadingHasDoneNothing) {
    std::map<Arbiter::Id, ContainerReading> readings;
    readings[1].processes = {{.slot = 5, .process = {.in_flight_ns = {kTickNs}}}};
    arbiter_.decide(now_ += kTickNs, readings);
    readings[1].processes.clear();
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), 0);
    readings[1].processes = {{.slot = 5, .process = {.in_flight_ns = {3 * kTickNs}}}};
    arbiter_.decide(now_ += kTickNs, readings);
    EXPECT_EQ(arbiter_.used_ns(1, WorkKind::kernels), 2 * kTickNs);
}

}  // namespace
}  // namespace tessera::guard

// Goal: on a GPU with time slices, processes take turns as on the H100 that was measured, and every
// process gets the same answers about them at any time. Method: bookings with given
// times, compared with what was measured, and with a model that counts in small steps.
#include "gpusim/state/slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "gpusim/state/timeline.hpp"
#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSlice = 2 * kMs;
constexpr std::int64_t kSwitch = 270 * kUs;
constexpr EngineId kCompute = {0, Engine::compute};
constexpr int kSlots = 4;

// A GPU and its processes, at given times.
class Gpu0 {
  public:
    explicit Gpu0(const std::string& keys = "time_slice: 2ms, switch_time: 270us")
        : node_("gpus:\n  - {model: A, memory: 1GiB, " + keys + "}\n") {
        state_.file->slots_end.store(kSlots);
    }

    std::int64_t book(std::int64_t now, int slot, std::int64_t ns) {
        const std::int64_t work_ps = ns == kNever ? kNever : ns * kPsPerNs;
        return gpusim::book(state_, kCompute, slot, {work_ps, kWholeEngine}, now);
    }
    // An event.
    std::int64_t mark(std::int64_t now, int slot) { return book_turn(state_, kCompute, slot, now); }
    std::int64_t done(int slot, std::int64_t until, std::int64_t now) {
        return done_at(state_, kCompute, slot, until, now);
    }
    std::int64_t used(int slot, std::int64_t now) const {
        return used_ps(state_, kCompute, slot, now) / kPsPerNs;
    }
    std::int64_t used_by_all(std::int64_t now) const {
        std::int64_t all = 0;
        for (int slot = 0; slot < kSlots; slot++)
            all += used(slot, now);
        return all;
    }
    std::int64_t busy(std::int64_t window_ns, std::int64_t now) const {
        return busy_ns(state_, kCompute, window_ns, now);
    }
    State& state() { return state_; }
    const SimulatedNode& node() const { return node_; }

  private:
    SimulatedNode node_;
    State state_ = open_root(node_.root(), Access::read_write).value();
};

double ms(std::int64_t ns) {
    return static_cast<double>(ns) / 1e6;
}

// The measured value, and 5 % of it.
#define EXPECT_MEASURED(ns, measured_ms) EXPECT_NEAR(ms(ns), measured_ms, 0.05 * (measured_ms))

TEST(Slices, AloneThereAreNoSwitches) {
    Gpu0 gpu;
    const std::int64_t first = gpu.book(100 * kMs, 0, 50 * kMs);
    const std::int64_t second = gpu.book(110 * kMs, 0, 10 * kMs);
    EXPECT_EQ(gpu.done(0, first, 120 * kMs), 150 * kMs);
    EXPECT_EQ(gpu.done(0, second, 120 * kMs), 160 * kMs);
    EXPECT_EQ(gpu.used(0, 130 * kMs), 30 * kMs);
    EXPECT_EQ(gpu.done(0, first, 300 * kMs), 150 * kMs) << "remembered";
    const std::int64_t third = gpu.book(300 * kMs, 0, kMs);
    EXPECT_EQ(gpu.done(0, third, 300 * kMs), 301 * kMs) << "after a pause";
    EXPECT_EQ(gpu.used(0, 400 * kMs), 61 * kMs);
    EXPECT_EQ(gpu.busy(400 * kMs, 400 * kMs), 61 * kMs);
}

TEST(Slices, TwoBusyProcessesTakeTurns) {
    Gpu0 gpu;
    for (int i = 0; i < 20'000; i++) {
        gpu.book(0, 0, 100 * kUs);
        gpu.book(0, 1, 100 * kUs);
    }
    EXPECT_NEAR(static_cast<double>(gpu.used_by_all(1'000 * kMs)), 0.86e9, 0.86e9 * 0.05);
    EXPECT_NEAR(static_cast<double>(gpu.used(0, 1'000 * kMs)),
                static_cast<double>(gpu.used(1, 1'000 * kMs)), 2.0 * kSlice);
    EXPECT_EQ(gpu.busy(500 * kMs, 1'000 * kMs), 500 * kMs) << "switches count";
    // How long each runs at a time, and how long no process does.
    std::vector<std::int64_t> runs;
    std::vector<std::int64_t> gaps;
    int running = -1;
    for (std::int64_t now = 100 * kMs; now < 200 * kMs; now += 10 * kUs) {
        int runs_now = -1;
        for (int slot = 0; slot < 2; slot++)
            if (gpu.used(slot, now + 10 * kUs) > gpu.used(slot, now)) runs_now = slot;
        auto& lengths = runs_now >= 0 ? runs : gaps;
        if (runs_now != running) lengths.push_back(0);
        running = runs_now;
        lengths.back() += 10 * kUs;
    }
    ASSERT_GT(runs.size(), 40U);
    for (std::size_t i = 1; i + 1 < runs.size(); i++) {
        EXPECT_NEAR(ms(runs[i]), 2.0, 0.08);
        EXPECT_NEAR(ms(gaps[i]), 0.295, 0.045);
    }
}

TEST(Slices, ABurstBesideABusyNeighbour) {
    const struct {
        std::int64_t burst_ns;
        double measured_ms;
    } rows[] = {
        {1 * kMs, 1.004}, {2 * kMs, 2.007}, {3 * kMs, 5.54}, {5 * kMs, 10.1}, {10 * kMs, 20.1}};
    for (const auto& row : rows) {
        Gpu0 gpu;
        gpu.book(0, 1, 10'000 * kMs);
        constexpr std::int64_t kBegin = 1'000 * kMs;
        const std::int64_t start = gpu.mark(kBegin, 0);
        const std::int64_t end = gpu.book(kBegin + 10 * kUs, 0, row.burst_ns);
        const std::int64_t started = gpu.done(0, start, 2'000 * kMs);
        EXPECT_MEASURED(started - kBegin, 0.7);
        EXPECT_MEASURED(gpu.done(0, end, 2'000 * kMs) - started, row.measured_ms);
    }
}

TEST(Slices, ABurstBesideTwoBusyNeighbours) {
    Gpu0 gpu;
    gpu.book(0, 1, 10'000 * kMs);
    gpu.book(0, 2, 10'000 * kMs);
    const std::int64_t start = gpu.mark(1'000 * kMs, 0);
    const std::int64_t end = gpu.book(1'000 * kMs, 0, 3 * kMs);
    EXPECT_MEASURED(gpu.done(0, end, 2'000 * kMs) - gpu.done(0, start, 2'000 * kMs), 7.8);
}

// Also if the process has work in another stream.
TEST(Slices, AnEventIsReachedInATurn) {
    Gpu0 gpu;
    const std::int64_t first = gpu.mark(0, 0);
    EXPECT_EQ(gpu.done(0, first, 0), 1);
    gpu.book(kMs, 0, 20 * kMs);
    const std::int64_t alone = gpu.mark(5 * kMs, 0);
    EXPECT_EQ(gpu.done(0, alone, 5 * kMs), 5 * kMs + 1);
    gpu.book(6 * kMs, 1, kMs);
    constexpr std::int64_t kBack = 6 * kMs + kSlice / 5 + 2 * kSwitch + kMs;
    const std::int64_t during = gpu.mark(7 * kMs, 0);
    const std::int64_t again = gpu.mark(7 * kMs, 0);
    EXPECT_EQ(gpu.done(0, during, 7 * kMs), kBack + 1) << "it waits for the neighbour";
    EXPECT_EQ(gpu.done(0, again, 7 * kMs), kBack + 1);
    EXPECT_EQ(gpu.done(0, alone, 50 * kMs), 5 * kMs + 1);
    EXPECT_EQ(gpu.used(0, 50 * kMs), 20 * kMs);
}

TEST(Slices, WhoRunsOutOfWorkLeavesTheRest) {
    Gpu0 gpu;
    const std::int64_t a = gpu.book(0, 0, kMs / 2);
    const std::int64_t b = gpu.book(0, 1, kMs);
    const std::int64_t late = gpu.book(10 * kMs, 1, kMs);
    const std::int64_t c = gpu.book(20 * kMs, 2, kMs);
    EXPECT_EQ(gpu.done(0, a, 0), kMs / 2);
    EXPECT_EQ(gpu.done(1, b, 0), kMs / 2 + kSwitch + kMs) << "after one switch";
    EXPECT_EQ(gpu.done(1, late, 20 * kMs), 11 * kMs) << "it was the last one anyway";
    EXPECT_EQ(gpu.done(2, c, 20 * kMs), 21 * kMs + kSwitch);
    EXPECT_EQ(gpu.busy(30 * kMs, 30 * kMs), 7 * kMs / 2 + 2 * kSwitch);
}

TEST(Slices, TheOrderIsThatOfTheSlots) {
    Gpu0 gpu;
    const std::int64_t runs = gpu.book(0, 2, 5 * kMs);
    const std::int64_t before = gpu.book(kMs / 10, 1, kMs);
    const std::int64_t after = gpu.book(2 * kMs / 10, 3, kMs);
    EXPECT_EQ(gpu.done(3, after, kMs), kSlice + kSwitch + kMs);
    EXPECT_EQ(gpu.done(1, before, kMs), kSlice + 2 * kSwitch + 2 * kMs);
    EXPECT_EQ(gpu.done(2, runs, kMs), 5 * kMs + 3 * kSwitch + 2 * kMs);
}

TEST(Slices, WhoDiesInItsSliceMakesRoomAfterASwitch) {
    Gpu0 gpu;
    const std::int64_t hangs = gpu.book(0, 0, kNever);
    const std::int64_t a = gpu.book(0, 1, 3 * kMs);
    constexpr std::int64_t kTurn = kSlice + kSwitch;
    EXPECT_EQ(gpu.done(0, hangs, 0), kNever);
    EXPECT_EQ(gpu.done(1, a, 0), 3 * kTurn + kMs);
    constexpr std::int64_t kDeath = 2 * kTurn + kMs / 2;
    cut_off(gpu.state(), kCompute, 0, kDeath);
    EXPECT_EQ(gpu.used(0, kDeath), kSlice + kMs / 2);
    EXPECT_EQ(gpu.done(1, a, kDeath), kDeath + kSwitch + kMs);
    EXPECT_EQ(gpu.used(0, 100 * kMs), kSlice + kMs / 2);
    EXPECT_EQ(gpu.used(1, 100 * kMs), 3 * kMs);
}

TEST(Slices, WhoDiesDuringTheSwitchToItWasNeverServed) {
    Gpu0 gpu;
    const std::int64_t a = gpu.book(0, 0, 3 * kMs);
    gpu.book(0, 1, kMs);
    cut_off(gpu.state(), kCompute, 1, kSlice + kSwitch / 2);
    EXPECT_EQ(gpu.used(1, 100 * kMs), 0);
    EXPECT_EQ(gpu.done(0, a, kSlice + kSwitch / 2), kSlice + kSwitch / 2 + kSwitch + kMs);
    EXPECT_EQ(gpu.busy(100 * kMs, 100 * kMs), 3 * kMs + kSwitch / 2 + kSwitch);
}

TEST(Slices, WhoDiesWhileItWaitsIsNotMissed) {
    Gpu0 gpu;
    const std::int64_t a = gpu.book(0, 0, 5 * kMs);
    gpu.book(0, 1, kMs);
    cut_off(gpu.state(), kCompute, 1, kMs);
    EXPECT_EQ(gpu.done(0, a, kMs), 5 * kMs);
}

TEST(Slices, DeadProcessesAreCutOff) {
    Gpu0 gpu;
    gpu.book(0, 0, kNever);  // no process holds a lock of a slot
    const std::int64_t a = gpu.book(0, 3, 10 * kMs);
    cut_off_dead(gpu.state(), kCompute, kMs);
    EXPECT_EQ(gpu.done(3, a, kMs), kNever);
    EXPECT_EQ(gpu.used_by_all(100 * kMs), kMs);
}

TEST(Slices, ANewOwnerOfASlotBeginsAtZero) {
    Gpu0 gpu;
    const std::int64_t now = monotonic_ns();
    gpu.book(now - 10 * kMs, 0, 5 * kMs);
    gpu.book(now - 4 * kMs, 0, kNever);
    clear_bookings(gpu.state(), 0);
    EXPECT_EQ(gpu.used(0, monotonic_ns() + kMs), 0);
    const std::int64_t begin = monotonic_ns();
    const std::int64_t a = gpu.book(begin, 0, kMs);
    EXPECT_EQ(gpu.done(0, a, begin), begin + kMs);
    EXPECT_EQ(gpu.used(0, begin + 5 * kMs), kMs);
}

TEST(Slices, SharingChangesOnlyWithoutWork) {
    Gpu0 gpu;
    const std::int64_t begin = monotonic_ns();
    const std::int64_t a = gpu.book(begin - 5 * kMs, 0, kMs);
    EXPECT_TRUE(set_sharing(gpu.state(), 0, Sharing::side_by_side));
    const std::int64_t next = monotonic_ns();
    const std::int64_t b = gpu.book(next, 0, 60'000 * kMs);
    EXPECT_EQ(gpu.done(0, a, next), begin - 4 * kMs) << "what was booked before is remembered";
    EXPECT_EQ(gpu.done(0, b, next), next + 60'000 * kMs);
    EXPECT_EQ(gpu.used(0, next + kMs), 2 * kMs);
    // Work of a slot without a process does not count.
    ChildProcess owner([&](Wire& wire) {
        State state = open_root(gpu.node().root(), Access::read_write).value();
        const int slot = claim_slot(state);
        wire.send(static_cast<std::uint64_t>(slot) + 1);
        wire.receive();
    });
    const int slot = static_cast<int>(owner.wire().receive()) - 1;
    gpu.book(next, slot, 60'000 * kMs);
    EXPECT_FALSE(set_sharing(gpu.state(), 0, Sharing::turns));
    owner.kill_hard();
    EXPECT_TRUE(set_sharing(gpu.state(), 0, Sharing::turns));
}

// What a process knows stays true, also if another process books for an earlier time.
TEST(Slices, ALateBookingDoesNotChangeWhatWasTold) {
    Gpu0 gpu;
    const std::int64_t a = gpu.book(0, 0, 10 * kMs);
    const std::int64_t b = gpu.book(0, 0, 10 * kMs);
    EXPECT_EQ(gpu.done(0, a, 15 * kMs), 10 * kMs);
    const std::int64_t late = gpu.book(5 * kMs, 1, kMs);
    EXPECT_EQ(gpu.done(0, a, 15 * kMs), 10 * kMs);
    EXPECT_EQ(gpu.done(1, late, 15 * kMs), 10 * kMs + kSlice / 5 + kSwitch + kMs);
    EXPECT_EQ(gpu.done(0, b, 15 * kMs), 21 * kMs + 2 * kSwitch);
}

TEST(Slices, ForgetsWhatWasVeryLongAgo) {
    Gpu0 gpu;
    const std::int64_t old = gpu.book(0, 0, kMs);
    for (std::int64_t i = 1; i <= kMoments; i++)
        gpu.book(i * 2 * kMs, 0, kMs);
    constexpr std::int64_t kLongAfter = kMs * 2 * (kMoments + 1);
    EXPECT_GE(gpu.done(0, old, kLongAfter), kMs);
    EXPECT_LE(gpu.done(0, old, kLongAfter), kLongAfter);
}

// Turns of 10 us without switches are nearly what infinitely short ones are.
TEST(Slices, ShortOnesAreAsInfinitelyShortOnes) {
    Gpu0 shorts("time_slice: 10us");
    Gpu0 infinitely("time_slice: 0");
    std::mt19937_64 random(20261127);
    std::int64_t now = 0;
    for (int i = 0; i < 200; i++) {
        now += static_cast<std::int64_t>(random() % 8) * kMs / 4;
        const int slot = static_cast<int>(random() % kSlots);
        const auto ns = static_cast<std::int64_t>(random() % 30 + 1) * kMs / 10;
        const std::int64_t a = shorts.book(now, slot, ns);
        const std::int64_t b = infinitely.book(now, slot, ns);
        EXPECT_NEAR(ms(shorts.done(slot, a, now)), ms(infinitely.done(slot, b, now)), 0.2);
    }
    for (int slot = 0; slot < kSlots; slot++)
        EXPECT_NEAR(ms(shorts.used(slot, now)), ms(infinitely.used(slot, now)), 0.2);
}

struct Job {
    int slot;
    std::int64_t begin;
    std::int64_t ns;
    std::int64_t until = 0;
    std::int64_t done = 0;
};

std::vector<Job> random_jobs(std::mt19937_64& random, int count) {
    std::vector<Job> jobs;
    std::int64_t now = 0;
    for (int i = 0; i < count; i++) {
        now += static_cast<std::int64_t>(random() % 300) * 10 * kUs;
        jobs.push_back({static_cast<int>(random() % kSlots), now,
                        static_cast<std::int64_t>(random() % 600 + 1) * 10 * kUs});
    }
    return jobs;
}

// The rules of slices.hpp in steps of 10 us. Fills in Job::done.
class SmallSteps {
  public:
    static constexpr std::int64_t kStep = 10 * kUs;

    explicit SmallSteps(std::vector<Job>& jobs) : jobs_(jobs) {}

    void step() {
        if (current_ >= 0 && left(current_) == 0) current_ = -1;
        for (const Job& job : jobs_) {
            if (job.begin != now_) continue;
            if (left(job.slot) == 0) since_[job.slot] = now_;
            booked_[job.slot] += job.ns;
        }
        const bool is_over = current_ >= 0 && switch_left_ == 0 && in_turn_ >= kSlice;
        if (is_over && does_one_wait()) current_ = -1;
        if (current_ < 0) begin_turn();
        now_ += kStep;
        if (current_ < 0) {
            idle_ns += kStep;
        } else if (switch_left_ > 0) {
            switch_left_ -= kStep;
            switch_ns += kStep;
        } else {
            in_turn_ += kStep;
            used_ns[current_] += kStep;
            note_done();
        }
    }

    std::int64_t now() const { return now_; }

    std::int64_t idle_ns = 0;
    std::int64_t switch_ns = 0;
    std::int64_t used_ns[kSlots] = {};

  private:
    std::int64_t left(int slot) const { return booked_[slot] - used_ns[slot]; }

    bool does_one_wait() const {
        for (int slot = 0; slot < kSlots; slot++) {
            const bool waits = slot != current_ && left(slot) > 0;
            if (waits && now_ - since_[slot] >= kSlice / 5) return true;
        }
        return false;
    }
    void begin_turn() {
        for (int i = 1; i <= kSlots && current_ < 0; i++) {
            const int slot = (last_ + i + kSlots) % kSlots;
            if (left(slot) > 0) current_ = slot;
        }
        if (current_ < 0) return;
        switch_left_ = last_ < 0 || current_ == last_ ? 0 : kSwitch;
        last_ = current_;
        in_turn_ = 0;
    }
    void note_done() {
        std::int64_t until = 0;
        for (Job& job : jobs_) {
            if (job.slot != current_) continue;
            until += job.ns;
            if (until <= used_ns[current_] && job.done == 0) job.done = now_;
        }
    }

    std::vector<Job>& jobs_;
    std::int64_t now_ = 0;
    std::int64_t booked_[kSlots] = {};
    std::int64_t since_[kSlots] = {};
    std::int64_t switch_left_ = 0;
    std::int64_t in_turn_ = 0;
    int current_ = -1;
    int last_ = -1;
};

TEST(Slices, AsAModelInSmallSteps) {
    std::mt19937_64 random(20261127);
    for (int round = 0; round < 8; round++) {
        std::vector<Job> jobs = random_jobs(random, 60);
        SmallSteps model(jobs);
        Gpu0 gpu;
        for (Job& job : jobs) {
            while (model.now() < job.begin)
                model.step();
            job.until = gpu.book(job.begin, job.slot, job.ns);
        }
        const auto compare = [&] {
            std::int64_t used = 0;
            for (int slot = 0; slot < kSlots; slot++) {
                EXPECT_EQ(gpu.used(slot, model.now()), model.used_ns[slot]);
                used += gpu.used(slot, model.now());
            }
            EXPECT_EQ(gpu.busy(model.now(), model.now()), used + model.switch_ns);
            EXPECT_EQ(used + model.switch_ns + model.idle_ns, model.now());
        };
        compare();
        // A prediction, now that nothing more is booked.
        std::vector<std::int64_t> predicted;
        predicted.reserve(jobs.size());
        for (const Job& job : jobs)
            predicted.push_back(gpu.done(job.slot, job.until, model.now()));
        for (int i = 0; i < 100'000; i++)
            model.step();
        for (std::size_t i = 0; i < jobs.size(); i++) {
            EXPECT_EQ(predicted[i], jobs[i].done) << i;
            EXPECT_EQ(gpu.done(jobs[i].slot, jobs[i].until, model.now()), jobs[i].done) << i;
        }
        compare();
    }
}

// One is asked all the time, the other only at the end.
TEST(Slices, WhoAsksAndWhenMakesNoDifference) {
    std::mt19937_64 random(7);
    std::vector<Job> jobs = random_jobs(random, 200);
    Gpu0 asked;
    Gpu0 silent;
    std::map<std::size_t, std::int64_t> reached;
    for (std::size_t i = 0; i < jobs.size(); i++) {
        Job& job = jobs[i];
        job.until = asked.book(job.begin, job.slot, job.ns);
        EXPECT_EQ(silent.book(job.begin, job.slot, job.ns), job.until);
        const std::int64_t now =
            i + 1 < jobs.size() ? (job.begin + jobs[i + 1].begin) / 2 : job.begin + 10'000 * kMs;
        const std::size_t of = random() % (i + 1);
        const std::int64_t at = asked.done(jobs[of].slot, jobs[of].until, now);
        if (at <= now) reached.emplace(of, at);
    }
    const std::int64_t end = jobs.back().begin + 10'000 * kMs;
    for (std::size_t i = 0; i < jobs.size(); i++) {
        const std::int64_t at = asked.done(jobs[i].slot, jobs[i].until, end);
        EXPECT_EQ(silent.done(jobs[i].slot, jobs[i].until, end), at) << i;
        const auto before = reached.find(i);
        EXPECT_TRUE(before == reached.end() || before->second == at) << i;
    }
    EXPECT_GT(reached.size(), 40U);
}

// Whole rounds are skipped; that must not differ from counting each turn.
TEST(Slices, LongWorkOfManyIsAsTurnByTurn) {
    Gpu0 asked;
    Gpu0 silent;
    std::int64_t until[kSlots] = {};
    for (int slot = 0; slot < kSlots; slot++) {
        until[slot] = asked.book(slot * kMs, slot, std::int64_t{4 + slot} * 300 * kMs + 7);
        silent.book(slot * kMs, slot, std::int64_t{4 + slot} * 300 * kMs + 7);
    }
    for (std::int64_t now = 10 * kMs; now < 8'000 * kMs; now += 97 * kMs) {
        for (int slot = 0; slot < kSlots; slot++) {
            EXPECT_EQ(asked.done(slot, until[slot], now), silent.done(slot, until[slot], 5 * kMs));
            EXPECT_EQ(asked.used(slot, now), silent.used(slot, now));
            EXPECT_EQ(asked.busy(300 * kMs, now), silent.busy(300 * kMs, now));
        }
    }
}

// Children book and ask all the time, and are killed wherever they are.
TEST(Slices, AKillAtAnyInstantLeavesTurnsThatFitTogether) {
    Gpu0 gpu("time_slice: 10us, switch_time: 1us");
    for (int i = 0; i < 100; i++) {
        ChildProcess child([&](Wire& wire) {
            State state = open_root(gpu.node().root(), Access::read_write).value();
            const int slot = i % kSlots;
            wire.send();
            for (;;) {
                const EngineLock lock(state, kCompute);
                const std::int64_t now = monotonic_ns();
                const std::int64_t until = book(state, kCompute, slot, {15'000'000, 1000}, now);
                done_at(state, kCompute, slot, until, now);
                if (now % 3 == 0) cut_off(state, kCompute, slot, now);
            }
        });
        ASSERT_EQ(child.wire().receive(), 1U);
        std::this_thread::sleep_for(std::chrono::microseconds(300 + i % 7 * 50));
        child.kill_hard();
    }
    gpu.done(0, gpu.book(monotonic_ns(), 0, 1), monotonic_ns() + 60'000 * kMs);
    const SlicedEngine& engine = gpu.state().file->sliced[0];
    const std::uint64_t total = engine.turns_total.load();
    ASSERT_GT(total, 100U);
    std::int64_t end = 0;
    std::map<std::int64_t, std::int64_t> done;
    for (std::uint64_t n = oldest_of(total); n <= total; n++) {
        const PastTurn& turn = engine.turns[n % kMoments];
        EXPECT_GE(turn.from_ns.load(), end);
        EXPECT_GE(turn.start_ns.load(), turn.from_ns.load());
        EXPECT_GE(turn.end_ns.load(), turn.start_ns.load());
        end = turn.end_ns.load();
        const auto before = done.find(turn.slot.load());
        if (before != done.end()) {
            EXPECT_EQ(turn.before_ps.load(), before->second);
        }
        EXPECT_LE(turn.after_ps.load() - turn.before_ps.load(),
                  (end - turn.start_ns.load()) * kPsPerNs);
        done[turn.slot.load()] = turn.after_ps.load();
    }
    for (const auto& [slot, after] : done)
        EXPECT_EQ(engine.bookings[slot].done_ps.load(), after);
}

}  // namespace
}  // namespace gpusim

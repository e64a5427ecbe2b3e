// Goal: an engine's time is shared as by infinitely short turns, or side by side, and every process
// gets the same answers about the past and the future. Method: bookings with given times, compared
// with a model that counts in small steps.
#include "gpusim/state/timeline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kLongAfter = kMs * 2 * kMoments;
constexpr EngineId kCompute = {0, Engine::compute};

Work work(std::int64_t ns, std::uint32_t demand = kWholeEngine) {
    return {ns * kPsPerNs, demand};
}

class TimelineTest : public testing::Test {
  protected:
    TimelineTest() { state_.file->slots_end.store(4); }

    std::int64_t book_at(std::int64_t now, int slot, Work what) {
        return book(state_, kCompute, slot, what, now);
    }
    std::int64_t done(std::int64_t until, std::int64_t now) {
        return done_at(state_, kCompute, 0, until, now);
    }
    std::int64_t used(int slot, std::int64_t now) const {
        return used_ps(state_, kCompute, slot, now) / kPsPerNs;
    }

    SimulatedNode node_{kTwoGpus};
    State state_ = open_root(node_.root(), Access::read_write).value();
};

TEST_F(TimelineTest, AloneItTakesItsTime) {
    const std::int64_t first = book_at(100 * kMs, 0, work(5 * kMs));
    const std::int64_t second = book_at(101 * kMs, 0, work(3 * kMs));
    EXPECT_EQ(done(first, 102 * kMs), 105 * kMs) << "predicted";
    EXPECT_EQ(done(second, 102 * kMs), 108 * kMs) << "in order";
    EXPECT_EQ(used(0, 104 * kMs), 4 * kMs);
    EXPECT_EQ(done(first, 200 * kMs), 105 * kMs) << "remembered";
    EXPECT_EQ(used(0, 200 * kMs), 8 * kMs);
    const std::int64_t third = book_at(300 * kMs, 0, work(kMs));
    EXPECT_EQ(done(third, 300 * kMs), 301 * kMs) << "an idle engine is not faster afterwards";
    EXPECT_EQ(used(0, 400 * kMs), 9 * kMs);
}

TEST_F(TimelineTest, ClientsOfOneMpsServerRunSideBySide) {
    for (const int slot : {0, 1})
        state_.file->slots[slot].mps_server.store(7);
    state_.file->slots[3].mps_server.store(8);
    constexpr std::uint32_t kHalf = kWholeEngine / 2;
    const std::int64_t a = book_at(0, 0, {10 * kMs * kPsPerNs, kHalf});
    book_at(0, 1, {10 * kMs * kPsPerNs, kHalf});
    EXPECT_EQ(done(a, 0), 10 * kMs) << "they fit";
    book_at(5 * kMs, 2, work(kMs));
    EXPECT_EQ(done(a, 5 * kMs), 12 * kMs) << "by turns while a process without MPS has work";
    const std::int64_t b = book_at(20 * kMs, 0, {kMs * kPsPerNs, kHalf});
    book_at(20 * kMs, 3, {10 * kMs * kPsPerNs, kHalf});
    EXPECT_EQ(done(b, 20 * kMs), 22 * kMs) << "by turns with a client of another server";
}

TEST_F(TimelineTest, AClaimedSlotCountsAsTheClientThatItWas) {
    for (const int slot : {0, 1})
        state_.file->slots[slot].mps_server.store(7);
    const Work half = {10 * kMs * kPsPerNs, kWholeEngine / 2};
    const std::int64_t start = monotonic_ns() - 100 * kMs;
    book_at(start, 0, half);
    const std::int64_t b = book_at(start, 1, half);
    ASSERT_EQ(claim_slot(state_), 0) << "no process has it";
    EXPECT_EQ(done_at(state_, kCompute, 1, b, monotonic_ns()), start + 10 * kMs)
        << "they ran side by side";
    EXPECT_EQ(state_.file->slots[0].mps_server.load(), 0U);
}

TEST_F(TimelineTest, TwoGetHalfEach) {
    const std::int64_t a = book_at(0, 0, work(10 * kMs));
    const std::int64_t b = book_at(5 * kMs, 1, work(10 * kMs));
    EXPECT_EQ(done(a, 5 * kMs), 15 * kMs) << "5 alone, 5 at half";
    EXPECT_EQ(done(b, 5 * kMs), 20 * kMs) << "5 at half, 5 alone";
    EXPECT_EQ(used(0, 9 * kMs), 7 * kMs);
    EXPECT_EQ(used(1, 9 * kMs), 2 * kMs);
    EXPECT_EQ(done(a, 50 * kMs), 15 * kMs);
    EXPECT_EQ(done(b, 50 * kMs), 20 * kMs);
    EXPECT_EQ(used(0, 50 * kMs), 10 * kMs);
    EXPECT_EQ(used(1, 50 * kMs), 10 * kMs);
}

TEST_F(TimelineTest, SideBySideTheyFitOrSlowDownAlike) {
    set_sharing(state_, 0, Sharing::side_by_side);
    const std::int64_t start = monotonic_ns();
    const std::int64_t a = book_at(start, 0, work(10 * kMs, 400));
    const std::int64_t b = book_at(start, 1, work(10 * kMs, 600));
    EXPECT_EQ(done(a, start), start + 10 * kMs);
    EXPECT_EQ(done(b, start), start + 10 * kMs);
    EXPECT_EQ(used(0, start + 5 * kMs), 2 * kMs) << "of the whole engine";
    const std::int64_t c = book_at(start + 5 * kMs, 2, work(5 * kMs, 1000));
    EXPECT_EQ(done(c, start + 5 * kMs), start + 15 * kMs) << "twice what there is";
    EXPECT_EQ(done(a, start + 5 * kMs), start + 15 * kMs);
}

TEST_F(TimelineTest, WhoIsCutOffMakesRoom) {
    const std::int64_t a = book_at(0, 0, work(10 * kMs));
    const std::int64_t b = book_at(0, 1, work(kNever / kPsPerNs));
    EXPECT_EQ(done(a, 10 * kMs), 20 * kMs);
    EXPECT_EQ(done(b, 10 * kMs), kNever);
    cut_off(state_, kCompute, 1, 10 * kMs);
    EXPECT_EQ(done(a, 10 * kMs), 15 * kMs);
    EXPECT_EQ(used(1, 100 * kMs), 5 * kMs);
}

TEST_F(TimelineTest, DeadProcessesAreCutOff) {
    book_at(0, 3, work(kNever / kPsPerNs));  // no process holds the slot's lock
    const std::int64_t a = book_at(0, 0, work(10 * kMs));
    state_.file->slots[3].in_use.store(1);
    EXPECT_EQ(done(a, kMs), 20 * kMs);
    cut_off_dead(state_, kCompute, 4 * kMs);
    EXPECT_EQ(done(a, 4 * kMs), kNever) << "no process has slot 0 either";
    EXPECT_EQ(used(0, 9 * kMs), 2 * kMs);
    EXPECT_EQ(used(3, 9 * kMs), 2 * kMs);
}

TEST_F(TimelineTest, SaysHowLongItWasBusy) {
    book_at(100 * kMs, 0, work(10 * kMs));
    book_at(120 * kMs, 1, work(10 * kMs));
    book_at(120 * kMs, 0, work(10 * kMs));
    EXPECT_EQ(busy_ns(state_, kCompute, 100 * kMs, 125 * kMs), 15 * kMs);
    book_at(200 * kMs, 0, work(1));
    EXPECT_EQ(busy_ns(state_, kCompute, 100 * kMs, 200 * kMs), 30 * kMs);
    EXPECT_EQ(busy_ns(state_, kCompute, 75 * kMs, 200 * kMs), 15 * kMs);
}

TEST_F(TimelineTest, ForgetsWhatWasVeryLongAgo) {
    const std::int64_t old = book_at(0, 0, work(kMs));
    for (std::int64_t i = 1; i <= kMoments; i++)
        book_at(i * 2 * kMs, 0, work(kMs));
    EXPECT_GE(done(old, kLongAfter), kMs);
    EXPECT_LE(done(old, kLongAfter), kLongAfter);
}

// The same in steps of a hundredth: each process that has work gets 1/n of each step.
TEST_F(TimelineTest, AsAModelInSmallSteps) {
    constexpr std::int64_t kStepNs = 10'000;
    std::mt19937_64 random(20261122);
    struct Job {
        int slot;
        std::int64_t until_ps;
        double left_ns;
        std::int64_t done_ns;
    };
    std::vector<Job> jobs;
    double used_ns[4] = {};
    std::int64_t now = 0;
    const auto pass_step = [&] {
        std::vector<Job*> heads;
        for (int slot = 0; slot < 4; slot++) {
            for (Job& job : jobs) {
                if (job.slot != slot || job.left_ns <= 0) continue;
                heads.push_back(&job);
                break;
            }
        }
        for (Job* job : heads) {
            const double part = static_cast<double>(kStepNs) / static_cast<double>(heads.size());
            used_ns[job->slot] += part;
            job->left_ns -= part;
            if (job->left_ns <= 0) job->done_ns = now + kStepNs;
        }
        now += kStepNs;
    };
    for (int step = 0; step < 20000; step++) {
        if (random() % 400 == 0) {
            const int slot = static_cast<int>(random() % 4);
            const auto ns = static_cast<std::int64_t>(random() % 30 + 1) * kMs / 10;
            jobs.push_back({slot, book_at(now, slot, work(ns)), static_cast<double>(ns), 0});
        }
        pass_step();
    }
    int compared = 0;
    for (const Job& job : jobs) {
        if (job.done_ns == 0) continue;
        EXPECT_NEAR(static_cast<double>(done(job.until_ps, now)), static_cast<double>(job.done_ns),
                    60.0 * kStepNs);
        compared++;
    }
    EXPECT_GT(compared, 30);
    for (int slot = 0; slot < 4; slot++)
        EXPECT_NEAR(static_cast<double>(used(slot, now)), used_ns[slot], 60.0 * kStepNs);
}

}  // namespace
}  // namespace gpusim

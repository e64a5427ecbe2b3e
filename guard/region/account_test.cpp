// Goal: an account stays exact when several processes move it at once, and when any of them dies in
// the middle. Method: moves from many threads while another thread reads; an interrupted move,
// written by hand.
#include "guard/region/account.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "guard/region/pair.hpp"

namespace tessera::guard {
namespace {

constexpr int kGpu = 3;

class AccountTest : public testing::Test {
  protected:
    std::unique_ptr<Accounts> made_ = std::make_unique<Accounts>();
    Accounts& accounts_ = *made_;

    // As if the last process that moved had died before it wrote its slot.
    void forget_last_move(int slot, Pair before) { accounts_.slots[slot].held[kGpu] = before; }
};

TEST_F(AccountTest, HoldsTheLimit) {
    EXPECT_TRUE(reserve(accounts_, kGpu, 0, 6, 10));
    EXPECT_TRUE(reserve(accounts_, kGpu, 1, 4, 10));
    EXPECT_FALSE(reserve(accounts_, kGpu, 1, 1, 10));
    EXPECT_EQ(held(accounts_, kGpu), 10U);
    EXPECT_EQ(held_by(accounts_, kGpu, 0), 6U);
    EXPECT_EQ(held_by(accounts_, kGpu, 1), 4U);
    EXPECT_EQ(held(accounts_, kGpu + 1), 0U);
    release(accounts_, kGpu, 0, 1);
    EXPECT_TRUE(reserve(accounts_, kGpu, 1, 1, 10));
}

TEST_F(AccountTest, ALimitBelowUseRefusesWhatIsNew) {
    EXPECT_TRUE(reserve(accounts_, kGpu, 0, 8, 10));
    EXPECT_FALSE(reserve(accounts_, kGpu, 0, 1, 4));
    EXPECT_TRUE(reserve(accounts_, kGpu, 0, 0, 10)) << "zero units always succeed";
    release(accounts_, kGpu, 0, 5);
    EXPECT_TRUE(reserve(accounts_, kGpu, 0, 1, 4));
    EXPECT_EQ(held(accounts_, kGpu), 4U);
}

TEST_F(AccountTest, NeverMoreThanTheFieldHolds) {
    EXPECT_TRUE(reserve(accounts_, kGpu, 0, kMaxAllocationUnits, kMaxAllocationUnits));
    EXPECT_FALSE(reserve(accounts_, kGpu, 1, 1, kMaxAllocationUnits));
    EXPECT_FALSE(reserve(accounts_, kGpu, 1, kMaxAllocationUnits, kMaxAllocationUnits));
    EXPECT_EQ(clear(accounts_, kGpu, 0), kMaxAllocationUnits);
    EXPECT_EQ(held(accounts_, kGpu), 0U);
}

TEST_F(AccountTest, GivesBackNoMoreThanItHolds) {
    EXPECT_TRUE(reserve(accounts_, kGpu, 0, 2, 10));
    EXPECT_TRUE(reserve(accounts_, kGpu, 1, 3, 10));
    release(accounts_, kGpu, 0, 9);
    EXPECT_EQ(held(accounts_, kGpu), 3U);
    EXPECT_EQ(clear(accounts_, kGpu, 0), 0U);
    EXPECT_EQ(clear(accounts_, kGpu, 1), 3U);
    EXPECT_EQ(clear(accounts_, kGpu, 1), 0U);
}

TEST_F(AccountTest, AMoveThatWasCutOffIsDone) {
    EXPECT_TRUE(reserve(accounts_, kGpu, 7, 2, 10));
    const Pair before = load(accounts_.slots[7].held[kGpu]);
    EXPECT_TRUE(reserve(accounts_, kGpu, 7, 3, 10));
    forget_last_move(7, before);
    EXPECT_EQ(held_by(accounts_, kGpu, 7), 5U);
    EXPECT_TRUE(reserve(accounts_, kGpu, 8, 1, 10)) << "the next process that moves writes it";
    EXPECT_EQ(held_by(accounts_, kGpu, 7), 5U);
    EXPECT_EQ(clear(accounts_, kGpu, 7), 5U);
    EXPECT_EQ(held(accounts_, kGpu), 1U);
}

TEST_F(AccountTest, AClearThatWasCutOffIsDoneOnce) {
    EXPECT_TRUE(reserve(accounts_, kGpu, 7, 2, 10));
    const Pair before = load(accounts_.slots[7].held[kGpu]);
    EXPECT_EQ(clear(accounts_, kGpu, 7), 2U);
    forget_last_move(7, before);
    EXPECT_EQ(clear(accounts_, kGpu, 7), 0U);
    EXPECT_EQ(held(accounts_, kGpu), 0U);
}

// A tenant can write any value: nothing outside the file is touched, and nothing hangs.
TEST_F(AccountTest, Nonsense) {
    accounts_.gpus[kGpu].last_move = {77, ~std::uint64_t{0}};
    EXPECT_FALSE(reserve(accounts_, kGpu, 0, 1, 10));
    release(accounts_, kGpu, 0, 1);
    accounts_.slots[5].held[kGpu] = {~std::uint64_t{0}, ~std::uint64_t{0}};
    clear(accounts_, kGpu, 5);
    EXPECT_LE(held(accounts_, kGpu), kMaxAllocationUnits);
}

// Every thread uses two slots, so that some slots are shared by threads.
TEST_F(AccountTest, ManyAtOnce) {
    constexpr int kThreads = 8;
    constexpr int kMoves = 20000;
    constexpr AllocationUnits kLimit = 40;
    std::atomic<bool> is_over = false;
    std::atomic<bool> done = false;
    std::vector<std::atomic<int>> truth(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; thread++) {
        threads.emplace_back([&, thread] {
            std::mt19937 random(static_cast<unsigned>(thread));
            std::vector<AllocationUnits> mine;
            for (int move = 0; move < kMoves; move++) {
                const auto wanted = static_cast<AllocationUnits>(random() % 12);
                if (random() % 2 == 0 && reserve(accounts_, kGpu, thread / 2, wanted, kLimit)) {
                    mine.push_back(wanted);
                    truth[static_cast<std::size_t>(thread)] += static_cast<int>(wanted);
                } else if (!mine.empty()) {
                    truth[static_cast<std::size_t>(thread)] -= static_cast<int>(mine.back());
                    release(accounts_, kGpu, thread / 2, mine.back());
                    mine.pop_back();
                }
            }
        });
    }
    std::thread observer([&] {
        while (!done) {
            if (held(accounts_, kGpu) > kLimit) is_over = true;
        }
    });
    for (std::thread& thread : threads)
        thread.join();
    done = true;
    observer.join();
    EXPECT_FALSE(is_over);
    int all = 0;
    for (int slot = 0; slot < kThreads / 2; slot++) {
        const int of_slot = truth[static_cast<std::size_t>(2 * slot)] +
                            truth[static_cast<std::size_t>(2 * slot + 1)];
        EXPECT_EQ(held_by(accounts_, kGpu, slot), static_cast<AllocationUnits>(of_slot));
        all += of_slot;
    }
    EXPECT_EQ(held(accounts_, kGpu), static_cast<AllocationUnits>(all));
}

}  // namespace
}  // namespace tessera::guard

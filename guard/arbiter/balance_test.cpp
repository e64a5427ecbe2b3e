// Goal: a balance is what was earned minus what was used, within its bounds. Time that is given
// back pays for nothing else. Method: a table of steps, each from an empty balance.
#include "guard/arbiter/balance.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::guard {
namespace {

constexpr std::int64_t kMs = 1'000'000;

struct Step {
    std::int64_t used_ms = 0;
    std::int64_t earned_ms = 0;
    std::int64_t most_ms = 200;
};

struct Row {
    const char* what;
    std::vector<Step> steps;
    std::int64_t expected_ms;
};

TEST(Balance, IsWhatWasEarnedLessWhatWasUsed) {
    const Row rows[] = {
        {"nothing yet", {}, 0},
        {"a debt", {{30, 10}}, -20},
        {"paid for", {{30, 10}, {0, 15}, {0, 15}}, 10},
        {"saved up, and no more", {{0, 7, 10}, {0, 7, 10}}, 10},
        {"a bound that sinks takes what is above it", {{0, 150}, {0, 0, 10}}, 10},
        {"the largest debt", {{5000, 0}}, -1000},
        {"only the largest debt is paid", {{5000, 0}, {0, 1100}}, 100},
        {"given back", {{30, 10}, {-20, 0}}, 0},
        {"given back is not saved up beyond a lag", {{0, 150}, {-500, 0, 1000}}, 200},
        {"given back does not reduce what was saved up", {{0, 900, 1000}, {-500, 0, 1000}}, 900},
        {"unpaid debt is not given back", {{5000, 0}, {-4000, 0}}, -1000},
        {"the rest is given back", {{5000, 0}, {-4500, 0}}, -500},
        {"debt that was paid is given back", {{5000, 0}, {0, 1010}, {-50, 0}}, 60},
        {"a debt in two parts", {{1500, 0}, {1500, 0}, {-2500, 0}}, -500},
    };
    for (const Row& row : rows) {
        Balance balance;
        for (const Step& step : row.steps) {
            balance.use(step.used_ms * kMs);
            balance.earn(step.earned_ms * kMs, step.most_ms * kMs);
        }
        EXPECT_EQ(balance.ns(), row.expected_ms * kMs) << row.what;
    }
}

TEST(Balance, OnlyADebtIsForgiven) {
    Balance balance;
    balance.use(30 * kMs);
    balance.forgive_up_to(-20 * kMs);
    EXPECT_EQ(balance.ns(), -20 * kMs);
    balance.earn(70 * kMs, 200 * kMs);
    balance.forgive_up_to(0);
    EXPECT_EQ(balance.ns(), 50 * kMs);
}

TEST(Balance, TheLargestNumbersStayInBounds) {
    Balance balance;
    for (int round = 0; round < 4; round++) {
        balance.use(kMaxTimeNs);
        balance.earn(0, kMaxLagNs);
        EXPECT_EQ(balance.ns(), -kMaxDebtNs);
    }
    for (int round = 0; round < 4; round++) {
        balance.use(-kMaxTimeNs);
        balance.earn(kMaxTimeNs, kMaxPressingLagNs);
        EXPECT_LE(balance.ns(), kMaxPressingLagNs);
    }
}

}  // namespace
}  // namespace tessera::guard

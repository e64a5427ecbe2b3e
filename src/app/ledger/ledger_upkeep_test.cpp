#include "app/ledger/ledger_upkeep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_ledger_store.hpp"

namespace tessera {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kDay = 86'400;

class LedgerUpkeepTest : public testing::Test {
  protected:
    LedgerUpkeepTest() { clock_.advance(hours(24 * 1'000)); }
    [[nodiscard]] std::int64_t now() const { return clock_.unix_ns() / 1'000'000'000; }

    FakeLedgerStore store_;
    FakeClock clock_;
    LedgerMetrics metrics_;
    StoreFaults faults_{metrics_};
    LedgerUpkeep upkeep_{{store_, faults_, metrics_, clock_}, 400};
};

// Goal: each round rolls up what is older than a day; records are removed once a day.
TEST_F(LedgerUpkeepTest, Rounds) {
    metrics_.count_added({}, now());
    const std::int64_t first = now();
    upkeep_.run_round();
    clock_.advance(hours(23));
    upkeep_.run_round();
    EXPECT_THAT(store_.rolled_up_before, ElementsAre(first - kDay, first - 3'600));
    EXPECT_THAT(store_.removed_before, ElementsAre(first - 400 * kDay));
    clock_.advance(hours(1));
    metrics_.count_added({}, now());
    upkeep_.run_round();
    EXPECT_THAT(store_.removed_before, ElementsAre(first - 400 * kDay, first - 399 * kDay));
}

// Goal: a clock that is years ahead removes nothing that it should keep, and neither does a node
// whose clock is ahead.
TEST_F(LedgerUpkeepTest, ClockIsAhead) {
    upkeep_.run_round();
    EXPECT_THAT(store_.removed_before, IsEmpty()) << "no record has said which day it is";
    const std::int64_t today = now();
    metrics_.count_added({}, today);
    clock_.advance(hours(24 * 3'650));
    upkeep_.run_round();
    EXPECT_THAT(store_.removed_before, ElementsAre(today - 400 * kDay));
    metrics_.count_added({}, kEndOfTime);
    clock_.advance(hours(24));
    upkeep_.run_round();
    EXPECT_EQ(store_.removed_before.back(), now() - 400 * kDay);
}

TEST_F(LedgerUpkeepTest, KeepsAll) {
    LedgerUpkeep keeps({store_, faults_, metrics_, clock_}, 0);
    metrics_.count_added({}, now());
    keeps.run_round();
    EXPECT_THAT(store_.removed_before, IsEmpty());
}

// Goal: what failed is tried again in the next round, and logged once.
TEST_F(LedgerUpkeepTest, StoreFails) {
    const std::uint64_t errors = event_count(Event::ledger_error);
    metrics_.count_added({}, now());
    store_.fault = Error{Code::unavailable, "no answer"};
    upkeep_.run_round();
    upkeep_.run_round();
    EXPECT_EQ(event_count(Event::ledger_error), errors + 2) << "the roll-up and the removal";
    store_.fault.reset();
    upkeep_.run_round();
    EXPECT_EQ(store_.rolled_up_before.size(), 1U);
    EXPECT_EQ(store_.removed_before.size(), 1U);
}

}  // namespace
}  // namespace tessera

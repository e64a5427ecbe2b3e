#include "app/scheduler/budget/budget_rounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.hpp"
#include "testing/builders/usage_records.hpp"
#include "testing/fakes/fake_budgets.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

using build::kHour;
using build::kSomeMidnight;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FakeZones final : public TimeZones {
  public:
    [[nodiscard]] Result<ZoneRules> find(std::string_view name) const override {
        if (name == "UTC") return utc_rules();
        return fail(Code::invalid_argument, "\"" + std::string(name) + "\" is no time zone");
    }
};

BudgetObject budget(const std::string& ns, BudgetFields fields, const std::string& name = "gpus") {
    if (fields.period.empty()) fields.period = "daily";
    return {.ns = ns,
            .name = name,
            .uid = ns + "-" + name,
            .generation = 1,
            .fields = std::move(fields)};
}

class BudgetRoundsTest : public testing::Test {
  protected:
    BudgetRoundsTest() { at(0); }

    // Moves the clock to this time after kSomeMidnight.
    void at(std::int64_t seconds) {
        clock_.advance(std::chrono::seconds(kSomeMidnight + seconds) -
                       std::chrono::nanoseconds(clock_.unix_ns()));
    }
    // A quarter of a GPU in the hours.
    void use(const std::string& pod, std::int64_t from, std::int64_t to,
             const std::string& ns = "team") {
        for (UsageRecord& record : build::usages(build::usage(pod, {from * kHour, to * kHour}, ns)))
            ledger_.records.push_back(std::move(record));
    }
    void round() { rounds_.run_round({}); }
    [[nodiscard]] BudgetVerdict verdict(const std::string& ns = "team") const {
        return table_.find(ns).value().verdict;
    }

    FakeGpuBudgets budgets_;
    FakeBudgetLedger ledger_;
    FakeZones zones_;
    FakeClock clock_;
    BudgetTable table_;
    bool leads_ = true;
    BudgetRounds rounds_{{budgets_, ledger_, zones_, clock_, WriteFence([this](auto within) {
                              // A Lease lasts ten seconds.
                              return leads_ && within < std::chrono::seconds(8);
                          }),
                          table_}};
};

// Goal: a budget is used up by its namespace alone. Each threshold is reported once, and the next
// period refills it.
TEST_F(BudgetRoundsTest, ABudgetIsSpentAndRefilled) {
    budgets_.objects = {budget("team", {.gpu_time = "1h", .when_spent = "deny-new"})};
    use("a", 0, 2);
    use("b", 0, 24, "other");
    at(2 * kHour);
    round();
    EXPECT_EQ(verdict().used, gpu_seconds(1'800));
    EXPECT_FALSE(verdict().is_spent);
    EXPECT_THAT(budgets_.events, IsEmpty());
    EXPECT_TRUE(may_create_pod("team", *table_.find("team")));
    EXPECT_FALSE(table_.find("other"));

    use("a", 2, 4);
    at(4 * kHour);
    round();
    round();
    EXPECT_TRUE(verdict().is_spent);
    ASSERT_THAT(budgets_.events, SizeIs(3));
    EXPECT_EQ(budgets_.events[0].reason, "BudgetThreshold");
    EXPECT_EQ(budgets_.events[0].message,
              "80 %: 1h of 1h of GPU time are used until 2026-03-02T00:00:00Z");
    EXPECT_EQ(budgets_.events[2].reason, "BudgetSpent");
    const auto refused = may_create_pod("team", *table_.find("team"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "the GpuBudget gpus of the namespace team is spent: 1h of 1h of GPU time are used "
              "until 2026-03-02T00:00:00Z; create the pod after 2026-03-02T00:00:00Z");
    EXPECT_THAT(budgets_.reports.at("team/gpus").message, HasSubstr("the budget is spent until"));

    at(24 * kHour);
    round();
    EXPECT_FALSE(verdict().is_spent);
    EXPECT_TRUE(may_create_pod("team", *table_.find("team")));
}

// Goal: what users did wrong is said in the status of each budget, and concerns no other one.
TEST_F(BudgetRoundsTest, FaultsAreOfTheirBudget) {
    budgets_.objects = {budget("one", {.gpu_time = "1x"}), budget("two", {.gpu_time = "1h"}, "a"),
                        budget("two", {.gpu_time = "2h"}, "b"),
                        budget("zone", {.gpu_time = "1h", .time_zone = "Mars/Base"}),
                        budget("good", {.gpu_time = "1h"})};
    budgets_.objects.push_back(budget("broken", {.gpu_time = "1h"}));
    budgets_.objects.back().fault = "spec.gpuTime: is no text; put it in quotes";
    round();
    const auto fault = [&](const char* name) { return budgets_.reports.at(name).fault; };
    const auto message = [&](const char* name) { return budgets_.reports.at(name).message; };
    EXPECT_EQ(fault("one/gpus"), BudgetFault::invalid_spec);
    EXPECT_THAT(message("one/gpus"), HasSubstr("spec.gpuTime: \"1x\""));
    EXPECT_EQ(fault("two/a"), BudgetFault::several_budgets);
    EXPECT_EQ(fault("two/b"), BudgetFault::several_budgets);
    EXPECT_THAT(message("zone/gpus"), HasSubstr("spec.timeZone: \"Mars/Base\""));
    EXPECT_EQ(message("broken/gpus"), "spec.gpuTime: is no text; put it in quotes");
    EXPECT_EQ(fault("good/gpus"), BudgetFault::none);
    EXPECT_THAT(*table_.rows(), SizeIs(1));
}

// Goal: while the ledger is away what was known counts, the status says so, and a budget that is
// deleted or no longer denies pods has its effect at once.
TEST_F(BudgetRoundsTest, TheLedgerIsAway) {
    budgets_.objects = {budget("team", {.gpu_time = "1h", .when_spent = "deny-new"}),
                        budget("gone", {.gpu_time = "1h", .when_spent = "deny-new"})};
    use("a", 0, 8);
    at(8 * kHour);
    round();
    const auto errors = event_count(Event::budget_error);
    ledger_.fault = Error{Code::unavailable, "no answer"};
    budgets_.objects.pop_back();
    round();
    EXPECT_EQ(budgets_.reports.at("team/gpus").fault, BudgetFault::none) << "it may be a restart";
    round();
    round();
    EXPECT_EQ(event_count(Event::budget_error), errors + 1) << "once for each state";
    EXPECT_EQ(budgets_.reports.at("team/gpus").fault, BudgetFault::ledger_unavailable);
    EXPECT_TRUE(budgets_.reports.at("team/gpus").verdict.value().is_spent);
    EXPECT_TRUE(verdict().is_spent);
    EXPECT_FALSE(may_create_pod("team", *table_.find("team")));
    EXPECT_FALSE(table_.find("gone"));
    budgets_.objects.front().fields.when_spent = "none";
    round();
    EXPECT_TRUE(may_create_pod("team", *table_.find("team")));
    const auto recovered = event_count(Event::budgets_evaluated);
    ledger_.fault.reset();
    round();
    EXPECT_EQ(event_count(Event::budgets_evaluated), recovered + 1);
    EXPECT_EQ(budgets_.reports.at("team/gpus").fault, BudgetFault::none);
}

// Goal: a ledger that reads and cannot write, as with a full disk, keeps no status from being
// written. No threshold is reported that would be reported again.
TEST_F(BudgetRoundsTest, TheLedgerCannotWrite) {
    budgets_.objects = {budget("team", {.gpu_time = "1h"}), budget("bad", {.gpu_time = "x"})};
    use("a", 0, 8);
    at(8 * kHour);
    ledger_.write_fault = Error{Code::unavailable, "the disk is full"};
    round();
    EXPECT_TRUE(budgets_.reports.at("team/gpus").verdict.value().is_spent);
    EXPECT_EQ(budgets_.reports.at("bad/gpus").fault, BudgetFault::invalid_spec);
    EXPECT_THAT(budgets_.events, IsEmpty());
    ledger_.write_fault.reset();
    round();
    EXPECT_THAT(budgets_.events, SizeIs(3));
}

// Goal: with a sliding period the window is no news, and a clock that is behind is.
TEST_F(BudgetRoundsTest, SlidingPeriods) {
    budgets_.objects = {
        budget("team", {.gpu_time = "1h", .period = "sliding", .sliding_window = "24h"})};
    at(8 * kHour);
    round();
    const std::string message = budgets_.reports.at("team/gpus").message;
    EXPECT_EQ(message, "0s of 1h of GPU time are used in the last 24h");
    at(9 * kHour);
    round();
    EXPECT_EQ(budgets_.reports.at("team/gpus").message, message);
    at(8 * kHour);
    round();
    EXPECT_THAT(budgets_.reports.at("team/gpus").message, HasSubstr("clock is 3600 s behind"));
}

// Goal: a replica that does not lead knows the budgets as well as the leader, and writes nothing.
TEST_F(BudgetRoundsTest, OnlyTheLeaderWrites) {
    budgets_.objects = {budget("team", {.gpu_time = "1h"})};
    use("a", 0, 8);
    at(8 * kHour);
    leads_ = false;
    round();
    EXPECT_TRUE(verdict().is_spent);
    EXPECT_TRUE(budgets_.reports.empty());
    EXPECT_TRUE(budgets_.events.empty());
    EXPECT_TRUE(ledger_.kept.empty());
    leads_ = true;
    round();
    EXPECT_EQ(budgets_.events.size(), 3U);
    EXPECT_TRUE(ledger_.kept.contains("team"));
}

// Goal: a budget's debt is in the ledger: a new leader goes on with it, and neither an edited
// status nor a lost one changes it. A budget that was made again has no debt.
TEST_F(BudgetRoundsTest, DebtIsKept) {
    budgets_.objects = {budget("team", {.gpu_time = "1h"})};
    use("a", 0, 8);  // 2 h
    at(8 * kHour);
    round();
    at(25 * kHour);
    BudgetTable table;
    BudgetRounds next({budgets_, ledger_, zones_, clock_, {}, table});
    next.run_round({});
    EXPECT_EQ(table.find("team").value().verdict.granted, GpuDuration{});
    EXPECT_TRUE(table.find("team").value().verdict.is_spent);
    budgets_.objects.front().uid = "another";
    next.run_round({});
    EXPECT_EQ(table.find("team").value().verdict.granted, gpu_hours(1));
}

// Goal: many namespaces with equal periods cost few requests.
TEST_F(BudgetRoundsTest, RequestsAreShared) {
    for (int i = 0; i < 100; ++i)
        budgets_.objects.push_back(budget("ns" + std::to_string(i), {.gpu_time = "1h"}));
    use("a", 0, 1, "ns7");
    at(3 * kHour);
    round();
    EXPECT_LE(ledger_.usage_calls, 4);
    EXPECT_EQ(verdict("ns7").used, gpu_seconds(900));
    EXPECT_EQ(verdict("ns8").used, GpuDuration{});
}

}  // namespace
}  // namespace tessera

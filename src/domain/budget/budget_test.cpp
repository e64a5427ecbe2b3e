// States and verdicts of budgets.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "domain/budget/budget_state.hpp"
#include "domain/budget/budget_verdict.hpp"
#include "domain/budget/roll_up.hpp"
#include "testing/builders/reaching_prop.hpp"
#include "testing/builders/usage_records.hpp"

namespace tessera {
namespace {

using build::kHour;
using build::kSomeMidnight;

constexpr std::int64_t kDay = 24 * kHour;

// A whole GPU in the window, which counts from kSomeMidnight.
std::vector<UsageRecord> whole_gpu(Window window) {
    UsageRecord record = build::usage("p" + std::to_string(window.from_s), window);
    record.whole = true;
    return roll_up(split_into_intervals(record));
}

UsageCurve curve(const std::vector<Window>& windows) {
    std::vector<UsageRecord> records;
    for (const Window& window : windows) {
        for (UsageRecord& record : whole_gpu(window))
            records.push_back(std::move(record));
    }
    return UsageCurve::of(records, "team", {}).value();
}

BudgetSpec daily(std::int64_t hours, std::int64_t carry_over = 0) {
    return {.gpu_time = gpu_hours(hours),
            .rule = {},
            .period = {.kind = PeriodKind::daily},
            .carry_over = gpu_hours(carry_over)};
}

BudgetSpec sliding(std::int64_t hours, std::int64_t length_s) {
    return {.gpu_time = gpu_hours(hours),
            .rule = {},
            .period = {.kind = PeriodKind::sliding, .time_zone = "UTC", .sliding_s = length_s}};
}

// A budget that is evaluated again and again. Times count from kSomeMidnight.
class Budget {
  public:
    explicit Budget(BudgetSpec spec) : spec_(std::move(spec)) {}

    BudgetVerdict at(std::int64_t seconds, const UsageCurve& usage) {
        state_ = advance(state_, spec_, utc_rules(), usage, kSomeMidnight + seconds);
        return judge(*state_, usage);
    }
    void change(BudgetSpec spec) { spec_ = std::move(spec); }
    [[nodiscard]] const BudgetState& state() const { return *state_; }

  private:
    BudgetSpec spec_;
    std::optional<BudgetState> state_;
};

// Goal: used, remaining, thresholds and the end of the period. Method: one GPU works on while a
// budget of 10 GPU-hours is spent.
TEST(Budget, IsSpentByUse) {
    const auto usage = curve({{0, 12 * kHour}});
    struct Case {
        std::int64_t hours_used;
        int crossed;
        bool is_spent;
    };
    for (const Case& c : std::vector<Case>{
             {0, 0, false}, {7, 0, false}, {8, 80, false}, {9, 80, false}, {10, 100, true}}) {
        Budget budget(daily(10));
        const auto verdict = budget.at(0, curve({{0, c.hours_used * kHour}}));
        EXPECT_TRUE(verdict.granted == gpu_hours(10));
        EXPECT_TRUE(verdict.used == gpu_hours(c.hours_used));
        EXPECT_TRUE(verdict.remaining == gpu_hours(10 - c.hours_used));
        EXPECT_EQ(verdict.crossed, c.crossed) << c.hours_used;
        EXPECT_EQ(verdict.is_spent, c.is_spent) << c.hours_used;
        EXPECT_EQ(verdict.period, (Window{kSomeMidnight, kSomeMidnight + kDay}));
        EXPECT_EQ(verdict.refilled_at_s, kSomeMidnight + kDay);
    }
    Budget budget(daily(10));
    EXPECT_EQ(budget.at(0, curve({{0, 10 * kHour - 1800}})).crossed, 95);
    EXPECT_FALSE(budget.at(0, curve({{0, 10 * kHour - 1}})).is_spent);
}

// Goal: debt is not forgotten: what is used beyond the budget is missing in the next periods, until
// it is paid back. kubernetes-gpusharing set such a budget to 0.
TEST(Budget, DebtIsPaidBack) {
    Budget budget(daily(10, 5));
    const auto usage = curve({{0, 24 * kHour}});
    EXPECT_TRUE(budget.at(kDay - 1, usage).remaining == gpu_hours(-14));
    const auto second = budget.at(kDay, usage);
    EXPECT_TRUE(second.granted == gpu_hours(-4));
    EXPECT_TRUE(second.is_spent);
    EXPECT_EQ(second.crossed, 100);
    EXPECT_TRUE(budget.at(2 * kDay, usage).granted == gpu_hours(6));
    EXPECT_FALSE(budget.at(2 * kDay, usage).is_spent);
    EXPECT_TRUE(budget.at(3 * kDay, usage).granted == gpu_hours(15));
}

// Goal: what was left is carried over up to the bound, and a budget without carry-over starts full.
TEST(Budget, CarriesOverUpToTheBound) {
    const auto usage = curve({{0, 7 * kHour}});
    Budget none(daily(10));
    none.at(0, usage);
    EXPECT_TRUE(none.at(kDay, usage).granted == gpu_hours(10));
    Budget some(daily(10, 5));
    some.at(0, usage);
    EXPECT_TRUE(some.at(kDay, usage).granted == gpu_hours(13));
    EXPECT_TRUE(some.at(2 * kDay, usage).granted == gpu_hours(15));
    EXPECT_TRUE(some.at(9 * kDay, usage).granted == gpu_hours(15));
}

// Goal: a clock that is set back a day neither refills a spent budget nor charges again, and the
// budget goes on when the clock is where it was.
TEST(Budget, ClockThatIsSetBack) {
    Budget budget(daily(10, 5));
    const auto usage = curve({{0, 2 * kHour}, {kDay, kDay + 16 * kHour}});
    budget.at(0, usage);
    const auto before = budget.at(kDay + 16 * kHour, usage);
    EXPECT_TRUE(before.granted == gpu_hours(15));
    EXPECT_TRUE(before.is_spent);
    const BudgetState state = budget.state();
    EXPECT_EQ(budget.at(16 * kHour, usage), before);
    EXPECT_EQ(budget.state(), state);
    EXPECT_EQ(clock_behind_s(state, kSomeMidnight + 16 * kHour), kDay);
    EXPECT_EQ(clock_behind_s(state, kSomeMidnight + 2 * kDay), 0);
    EXPECT_TRUE(budget.at(2 * kDay, usage).granted == gpu_hours(9));
}

// Goal: records of a node that was away count for the period in which they were used, and for what
// that period left over, until they are too late.
TEST(Budget, LateRecords) {
    Budget budget(daily(10, 10));
    budget.at(0, {});
    EXPECT_TRUE(budget.at(kDay + kHour, {}).granted == gpu_hours(20));
    const auto usage = curve({{0, 4 * kHour}});
    EXPECT_TRUE(budget.at(kDay + kHour, usage).granted == gpu_hours(16));
    EXPECT_TRUE(budget.at(2 * kDay, usage).used == GpuDuration{});
    EXPECT_EQ(needed_since(budget.state(), daily(10, 10), utc_rules(), kSomeMidnight + 2 * kDay),
              kSomeMidnight);
    budget.at(30 * kDay, usage);
    EXPECT_EQ(needed_since(budget.state(), daily(10, 10), utc_rules(), kSomeMidnight + 30 * kDay),
              kSomeMidnight + 21 * kDay);
    EXPECT_LE(budget.state().closed.size(), 9U);
    // For the forecast in the first hour of a period.
    EXPECT_EQ(needed_since({}, daily(10), utc_rules(), kSomeMidnight + 60),
              kSomeMidnight + 60 - kForecastSeconds);
}

// Goal: a larger budget counts at once, and does not change what closed periods left over.
TEST(Budget, GrantThatChanges) {
    Budget budget(daily(10, 50));
    const auto usage = curve({{0, 8 * kHour}});
    budget.at(0, usage);
    budget.at(kDay, usage);
    budget.change(daily(100, 50));
    EXPECT_TRUE(budget.at(kDay, usage).granted == gpu_hours(102));
}

// Goal: a period that is changed while pods run: the new period counts what was used in it, once,
// and the debt from before it remains.
TEST(Budget, PeriodThatChanges) {
    BudgetSpec monthly = daily(100);
    monthly.period.kind = PeriodKind::monthly;
    const auto usage = curve({{0, 12 * kHour}, {kDay, kDay + 2 * kHour}});
    Budget to_month(daily(10, 5));
    to_month.at(0, usage);
    to_month.at(kDay, usage);
    to_month.change(monthly);
    const auto month = to_month.at(kDay + 2 * kHour, usage);
    EXPECT_TRUE(month.granted == gpu_hours(100));
    EXPECT_TRUE(month.used == gpu_hours(14));
    monthly.carry_over = gpu_hours(50);
    Budget to_day(monthly);
    const auto busy = curve({{0, kDay},
                             {kDay, 2 * kDay},
                             {2 * kDay, 3 * kDay},
                             {3 * kDay, 4 * kDay},
                             {4 * kDay, 4 * kDay + 12 * kHour}});
    to_day.at(4 * kDay + 12 * kHour, busy);
    to_day.change(daily(10));
    const auto day = to_day.at(4 * kDay + 12 * kHour, busy);
    EXPECT_TRUE(day.granted == gpu_hours(10));
    EXPECT_TRUE(day.used == gpu_hours(12));
    monthly.gpu_time = gpu_hours(90);
    Budget in_debt(monthly);
    in_debt.at(4 * kDay + 12 * kHour, busy);
    in_debt.change(daily(10));
    EXPECT_TRUE(in_debt.at(4 * kDay + 12 * kHour, busy).granted == gpu_hours(4));
}

// Goal: the forecast is when nothing remains at the rate of the last hour; none if the period ends
// before, if nothing runs, or if the budget is spent.
TEST(Budget, ForecastsItsEnd) {
    Budget budget(daily(10));
    EXPECT_EQ(budget.at(0, {}).exhausted_at_s, std::nullopt);
    EXPECT_EQ(budget.at(4 * kHour, curve({{0, 4 * kHour}})).exhausted_at_s,
              kSomeMidnight + 10 * kHour);
    EXPECT_EQ(budget.at(5 * kHour, curve({{4 * kHour + 1800, 5 * kHour}})).exhausted_at_s,
              std::nullopt);
    EXPECT_EQ(
        budget.at(5 * kHour, curve({{0, 4 * kHour}, {4 * kHour + 1800, 5 * kHour}})).exhausted_at_s,
        kSomeMidnight + 5 * kHour + 11 * kHour);
    // 2900 s remain, at 700 s in an hour: rounded up to a second.
    Budget small(daily(1));
    EXPECT_EQ(small.at(1800, curve({{0, 700}})).exhausted_at_s, kSomeMidnight + 1800 + 14'915);
    EXPECT_EQ(budget.at(12 * kHour, curve({{0, 12 * kHour}})).exhausted_at_s, std::nullopt);
    EXPECT_EQ(budget.at(20 * kHour, curve({{19 * kHour, 20 * kHour}})).exhausted_at_s,
              std::nullopt);
}

// Goal: a sliding period: use leaves it to the second, a spent budget says when something remains,
// and the forecast knows what leaves.
TEST(Budget, SlidingPeriod) {
    Budget budget(sliding(2, 4 * kHour));
    const auto usage = curve({{0, 2 * kHour}});
    EXPECT_EQ(budget.at(kHour, usage).exhausted_at_s, kSomeMidnight + 2 * kHour);
    EXPECT_EQ(budget.at(kHour, usage).refilled_at_s, std::nullopt);
    const auto spent = budget.at(3 * kHour, usage);
    EXPECT_TRUE(spent.is_spent);
    EXPECT_EQ(spent.refilled_at_s, kSomeMidnight + 4 * kHour + 1);
    EXPECT_TRUE(budget.at(4 * kHour + 1, usage).remaining == gpu_seconds(1));
    EXPECT_TRUE(budget.at(6 * kHour, usage).used == GpuDuration{});
    // One GPU all the time uses as much as leaves: it never exceeds five hours in four.
    Budget steady(sliding(5, 4 * kHour));
    EXPECT_EQ(steady.at(8 * kHour, curve({{0, 8 * kHour}})).exhausted_at_s, std::nullopt);
    // Little leaves at first, so it is exhausted before the old use leaves.
    Budget late(sliding(2, 4 * kHour));
    EXPECT_EQ(late.at(3 * kHour, curve({{0, 1800}, {2 * kHour, 3 * kHour}})).exhausted_at_s,
              kSomeMidnight + 3 * kHour + 1800);
}

// Goal: each threshold is reported once in a period, also when several are crossed at once, and
// again after use fell below it.
TEST(Budget, ReportsThresholdsOnce) {
    int reported = 0;
    const auto take = [&](std::int64_t percent) {
        BudgetVerdict const verdict{.granted = gpu_hours(100), .used = gpu_hours(percent)};
        return take_crossed(reported, verdict);
    };
    EXPECT_EQ(take(79), (std::vector<int>{}));
    EXPECT_EQ(take(80), (std::vector<int>{80}));
    EXPECT_EQ(take(81), (std::vector<int>{}));
    EXPECT_EQ(take(79), (std::vector<int>{}));
    EXPECT_EQ(take(100), (std::vector<int>{95, 100}));
    EXPECT_EQ(take(140), (std::vector<int>{}));
    EXPECT_EQ(take(93), (std::vector<int>{}));
    EXPECT_EQ(reported, 95);
    EXPECT_EQ(take(100), (std::vector<int>{100}));
    EXPECT_EQ(take(0), (std::vector<int>{}));
    EXPECT_EQ(take(100), (std::vector<int>{80, 95, 100}));
}

// Any usage of three hours, on random days.
std::vector<UsageRecord> any_records() {
    std::vector<UsageRecord> records;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
        const auto days = *rc::gen::inRange<std::int64_t>(0, 20);
        for (UsageRecord record : build::any_usages()) {
            record.time.from_s += days * kDay;
            record.time.to_s += days * kDay;
            records.push_back(std::move(record));
        }
    }
    return records;
}

UsageCurve curve_of(const std::vector<UsageRecord>& records) {
    return UsageCurve::of(records, "team", {}).value();
}

UsageCurve any_curve() {
    return curve_of(any_records());
}

BudgetSpec any_spec() {
    BudgetSpec spec = daily(*rc::gen::inRange<std::int64_t>(1, 6), *rc::gen::inRange(0, 6));
    spec.period.kind = *rc::gen::element(PeriodKind::daily, PeriodKind::weekly, PeriodKind::monthly,
                                         PeriodKind::sliding);
    if (spec.period.kind == PeriodKind::sliding) {
        spec.period.sliding_s = *rc::gen::inRange<std::int64_t>(60, 3 * kDay);
        spec.carry_over = {};
    }
    return spec;
}

// Goal: neither the number of evaluations nor clocks that are set back change a verdict. Method: a
// budget is evaluated at random times in any order. Its last verdict is that of a budget that is
// evaluated twice, at the first and at the latest time.
REACHING_PROP(BudgetProperty, OnlyTheFirstAndTheLastTimeCount) {
    const UsageCurve usage = any_curve();
    const BudgetSpec spec = any_spec();
    Budget often(spec);
    Budget twice(spec);
    const auto first = *rc::gen::inRange<std::int64_t>(0, 20 * kDay);
    twice.at(first, usage);
    BudgetVerdict verdict = often.at(first, usage);
    std::int64_t last = first;
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        const auto now = *rc::gen::inRange<std::int64_t>(0, 60 * kDay);
        const BudgetVerdict before = verdict;
        verdict = often.at(now, usage);
        if (now <= last) RC_ASSERT(verdict == before);
        last = std::max(last, now);
    }
    reached(verdict.used > GpuDuration{} || verdict.granted != spec.gpu_time);
    RC_ASSERT(verdict == twice.at(last, usage));
}

// Goal: older records than needed_since() says change nothing, at the first evaluation and later,
// also when the period changes. Method: evaluations soon after a random record. Days begin while
// containers run.
REACHING_PROP(BudgetProperty, OlderRecordsAreNotNeeded) {
    auto records = any_records();
    records.push_back(build::usage("last", {0, 60}));
    const UsageCurve all = curve_of(records);
    const ZoneRules zone{.name = "Test/West", .transitions = {{0, -kHour}}};
    std::optional<BudgetState> state;
    for (const BudgetSpec& spec : {any_spec(), any_spec()}) {
        const auto now_s = (*rc::gen::elementOf(records)).time.to_s +
                           *rc::gen::inRange<std::int64_t>(0, 1800) +
                           *rc::gen::element<std::int64_t>(0, 9) * kDay;
        const auto since_s = needed_since(state, spec, zone, now_s);
        std::vector<UsageRecord> needed;
        for (const UsageRecord& record : records)
            if (record.time.to_s > since_s) needed.push_back(record);
        const UsageCurve recent = curve_of(needed);
        const auto by_recent = advance(state, spec, zone, recent, now_s);
        state = advance(state, spec, zone, all, now_s);
        reached(needed.size() < records.size() && !recent.steps().empty());
        RC_ASSERT(by_recent == *state);
        RC_ASSERT(judge(by_recent, recent) == judge(*state, all));
    }
}

// Goal: with an unlimited carry-over nothing is lost: what remains is what all periods granted,
// less all that was used in them.
REACHING_PROP(BudgetProperty, GrantsAndUseAddUp) {
    const UsageCurve usage = any_curve();
    Budget budget(daily(2, 1'000'000));
    budget.at(0, usage);
    const auto days = *rc::gen::inRange<std::int64_t>(0, 30);
    const auto verdict = budget.at(days * kDay + 5, usage);
    const GpuDuration used = usage.used({kSomeMidnight, kSomeMidnight + (days + 1) * kDay});
    reached(used > GpuDuration{});
    RC_ASSERT(verdict.remaining == gpu_hours(2 * (days + 1)) - used);
}

// Goal: the forecast for a sliding period is right to the second. Method: look at each second
// around it, with use that goes on at the rate of the last hour.
REACHING_PROP(BudgetProperty, SlidingForecastIsTheFirstSecond) {
    const UsageCurve usage = UsageCurve::of(build::any_usages(), "team", {}).value();
    BudgetSpec spec = sliding(1, *rc::gen::inRange<std::int64_t>(900, 4 * kHour));
    const auto now = *rc::gen::inRange<std::int64_t>(0, 4 * kHour);
    spec.gpu_time = usage.used({kSomeMidnight + now - spec.period.sliding_s, kSomeMidnight + now}) +
                    gpu_seconds(*rc::gen::inRange<std::int64_t>(-100, 3 * kHour));
    Budget budget(spec);
    const auto verdict = budget.at(now, usage);
    const std::int64_t now_s = kSomeMidnight + now;
    const GpuDuration recent = usage.used({now_s - kForecastSeconds, now_s});
    const auto is_exhausted = [&](std::int64_t unix_s) {
        const GpuDuration added{recent.nanos * (unix_s - now_s) / kForecastSeconds};
        return usage.used({unix_s - spec.period.sliding_s, now_s}) + added >= verdict.granted;
    };
    std::int64_t first_s = now_s;
    while (first_s <= now_s + spec.period.sliding_s && !is_exhausted(first_s))
        ++first_s;
    const bool is_forecast = !verdict.is_spent && recent > GpuDuration{} && is_exhausted(first_s);
    reached(is_forecast);
    RC_ASSERT(verdict.exhausted_at_s.has_value() == is_forecast);
    if (is_forecast) RC_ASSERT(*verdict.exhausted_at_s == first_s);
}

}  // namespace
}  // namespace tessera

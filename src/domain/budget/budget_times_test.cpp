// Budgets that are evaluated from sums of usage between needed_times().
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>
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
constexpr std::int64_t kMonth = 31 * kDay;  // March, which begins at kSomeMidnight

BudgetSpec spec_of(PeriodKind kind, std::int64_t sliding_s = 0) {
    return {.gpu_time = gpu_hours(10),
            .rule = {},
            .period = {.kind = kind, .time_zone = "UTC", .sliding_s = sliding_s}};
}

// From kSomeMidnight. The budget was evaluated at the times in `earlier`, without usage.
std::vector<std::int64_t> times_after(const std::vector<std::int64_t>& earlier,
                                      const BudgetSpec& spec_then, const BudgetSpec& spec,
                                      std::int64_t now) {
    std::optional<BudgetState> state;
    for (const std::int64_t time : earlier)
        state = advance(state, spec_then, utc_rules(), {}, kSomeMidnight + time);
    auto times = needed_times(state, spec, utc_rules(), kSomeMidnight + now);
    for (std::int64_t& time : times)
        time -= kSomeMidnight;
    return times;
}

using Times = std::vector<std::int64_t>;

// Goal: the times of calendar periods: the begins and ends of those that are open, closed, or close
// now, the last hour, and no time twice.
TEST(NeededTimes, OfCalendarPeriods) {
    const BudgetSpec daily = spec_of(PeriodKind::daily);
    const auto daily_after = [&](const Times& earlier, std::int64_t now) {
        return times_after(earlier, daily, daily, now);
    };
    EXPECT_EQ(daily_after({}, 2 * kHour), (Times{0, kHour, 2 * kHour, kDay}));
    EXPECT_EQ(daily_after({}, 60), (Times{60 - kHour, 0, 60, kDay}));
    EXPECT_EQ(daily_after({5}, kDay + kHour), (Times{0, kDay, kDay + kHour, 2 * kDay}));
    EXPECT_EQ(daily_after({5, kDay}, 2 * kDay), (Times{0, kDay, 2 * kDay - kHour, 2 * kDay,  //
                                                       3 * kDay}));
    // The clock was set back.
    EXPECT_EQ(daily_after({5, kDay}, 5), (Times{0, kDay - kHour, kDay, 2 * kDay}));
    EXPECT_EQ(times_after({}, daily, spec_of(PeriodKind::monthly), kDay),
              (Times{0, kDay - kHour, kDay, kMonth}));
}

// Goal: after another period was named, the old period's times until the new one begins, which is
// what its debt is computed from.
TEST(NeededTimes, AfterAnotherPeriodWasNamed) {
    const BudgetSpec daily = spec_of(PeriodKind::daily);
    const BudgetSpec weekly = spec_of(PeriodKind::weekly);  // kSomeMidnight is a Sunday
    const BudgetSpec sliding = spec_of(PeriodKind::sliding, kSlidingParts);
    EXPECT_EQ(times_after({-kDay, 0}, daily, weekly, 5), (Times{-6 * kDay, 5 - kHour, 5, kDay}));
    EXPECT_EQ(times_after({0}, weekly, daily, 5), (Times{-6 * kDay, 5 - kHour, 0, 5, kDay}));
    // The week ended before the day begins.
    EXPECT_EQ(times_after({0}, weekly, daily, 3 * kDay + kHour),
              (Times{-6 * kDay, kDay, 3 * kDay, 3 * kDay + kHour, 4 * kDay}));
    // Debt neither comes from a sliding period nor goes into one.
    EXPECT_EQ(times_after({0}, sliding, daily, 2 * kHour), (Times{0, kHour, 2 * kHour, kDay}));
    EXPECT_EQ(times_after({0}, daily, sliding, kHour),
              (Times{0, kHour - 12, kHour - 11, kHour - 10, kHour - 9, kHour - 8, kHour - 7,
                     kHour - 6, kHour - 5, kHour - 4, kHour - 3, kHour - 2, kHour - 1, kHour}));
}

// Goal: times are those that the ledger accepts, at both ends of time.
TEST(NeededTimes, AreWithinAllTimes) {
    constexpr std::int64_t kLast = kEndOfTime - 1;
    const auto times = [](const BudgetSpec& spec, std::int64_t now_s) {
        return needed_times({}, spec, utc_rules(), now_s);
    };
    EXPECT_EQ(times(spec_of(PeriodKind::weekly), 10), (Times{0, 10, 4 * kDay}));
    EXPECT_EQ(times(spec_of(PeriodKind::sliding, kDay), -5), (Times{0}));
    EXPECT_EQ(times(spec_of(PeriodKind::daily), kEndOfTime + 5),
              (Times{kEndOfTime - kDay, kLast - kHour, kLast, kEndOfTime}));
    EXPECT_EQ(times(spec_of(PeriodKind::weekly), kLast).back(), kEndOfTime);
}

// Goal: after a long absence there are as many times as advance() closes periods, and a few more.
TEST(NeededTimes, AfterALongAbsence) {
    const BudgetSpec daily = spec_of(PeriodKind::daily);
    const auto times = times_after({0}, daily, daily, 3650 * kDay + 2 * kHour);
    EXPECT_EQ(times.size(), 3650U + 4U);
    // The next evaluation needs the days that are not yet part of the balance.
    EXPECT_EQ(times_after({0, 3650 * kDay}, daily, daily, 3650 * kDay + 2 * kHour).size(), 9U + 4U);
}

// Goal: a budget that is exhausted for less than a part of a sliding period: the forecast from sums
// is later. Method: a burst leaves the period within its first part, and half a GPU works on.
TEST(NeededTimes, MissABriefExhaustion) {
    BudgetSpec spec = spec_of(PeriodKind::sliding, 12 * kHour);
    spec.gpu_time = gpu_seconds(17 * kHour / 10);
    const auto at = [](std::int64_t seconds) { return kSomeMidnight + seconds; };
    const auto usage = UsageCurve::of_windows(
        std::vector<UsedWindow>{{{at(kHour / 2), at(kHour)}, gpu_hours(1)},
                                {{at(11 * kHour), at(12 * kHour)}, gpu_seconds(kHour / 2)}});
    const auto times = needed_times({}, spec, utc_rules(), at(12 * kHour));
    std::vector<UsedWindow> windows;
    for (std::size_t i = 1; i < times.size(); ++i) {
        const Window window{times[i - 1], times[i]};
        windows.push_back({window, usage.used(window)});
    }
    const auto state = advance({}, spec, utc_rules(), usage, at(12 * kHour));
    EXPECT_EQ(judge(state, usage).exhausted_at_s, at(12 * kHour + 24 * 60));
    EXPECT_EQ(judge(state, UsageCurve::of_windows(windows)).exhausted_at_s,
              at(14 * kHour + 24 * 60));
}

ChargeRule any_rule() {
    if (*rc::gen::arbitrary<bool>()) return {};
    return {.basis = ChargeBasis::mean, .weights = {{"T4", {333'333}}}};
}

// With about as much GPU time as is used in a period.
BudgetSpec any_calendar_spec() {
    BudgetSpec spec = spec_of(*rc::gen::weightedElement<PeriodKind>(
        {{4, PeriodKind::daily}, {2, PeriodKind::weekly}, {1, PeriodKind::monthly}}));
    spec.rule = any_rule();
    spec.gpu_time = gpu_seconds(*rc::gen::inRange<std::int64_t>(60, 2 * kHour));
    spec.carry_over = gpu_seconds(*rc::gen::element<std::int64_t>(0, 60, kHour, 100 * kHour));
    return spec;
}

// With midnights before, after and while the records' containers run. Clocks change in one, and the
// last two are two databases' rules for one zone.
ZoneRules any_zone() {
    const ZoneTransition hour_ahead{kSomeMidnight + 6 * kDay + kHour, kHour};
    return *rc::gen::element(
        utc_rules(), ZoneRules{.name = "Test/East", .transitions = {{0, kHour}}},
        ZoneRules{.name = "Test/West", .transitions = {{0, -kHour}}},
        ZoneRules{.name = "Test/West", .transitions = {{0, -kHour}, hour_ahead}});
}

// Three hours of usage on each of twelve days, as the ledger keeps it.
std::vector<UsageRecord> any_records() {
    std::vector<UsageRecord> records = {build::usage("first", {0, 60})};
    for (std::int64_t day = 0; day < 12; ++day) {
        for (UsageRecord record : build::any_usages()) {
            record.time.from_s += day * kDay;
            record.time.to_s += day * kDay;
            records.push_back(std::move(record));
        }
    }
    return roll_up(records);
}

// Containers that start and end all the time, for five hours.
std::vector<UsageRecord> any_busy_hours() {
    std::vector<UsageRecord> records = {build::usage("first", {0, 60})};
    for (const char* node : {"a", "b", "c", "d"}) {
        for (UsageRecord record : build::any_usages()) {
            record.gpu = GpuUuid(record.gpu.str() + node);
            records.push_back(std::move(record));
        }
    }
    return roll_up(records);
}

// Times of evaluations, in the first hours of days with records, or long after them. Some times are
// earlier than the one before.
Times any_times(int least, int most) {
    Times times(static_cast<std::size_t>(*rc::gen::inRange(least, most)));
    for (std::int64_t& time : times) {
        const auto day = *rc::gen::element<std::int64_t>(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 40);
        time = kSomeMidnight + day * kDay + *rc::gen::inRange<std::int64_t>(0, 4 * kHour);
    }
    std::ranges::sort(times);
    if (*rc::gen::inRange(0, 4) == 0) times.back() += 700 * kDay;
    const auto any = *rc::gen::inRange<std::size_t>(0, times.size());
    if (*rc::gen::arbitrary<bool>()) std::swap(times[any], times.back());
    return times;
}

// With as much GPU time as is used in a period that ends later, if nothing more is used, or if use
// goes on as in the last hour. So a spent budget is refilled then, or the budget is exhausted.
BudgetSpec any_sliding_spec(const std::vector<UsageRecord>& records, std::int64_t now_s) {
    const auto length_s = *rc::gen::inRange<std::int64_t>(60, 8 * kHour);
    BudgetSpec spec = spec_of(PeriodKind::sliding, length_s);
    spec.rule = any_rule();
    const UsageCurve usage = UsageCurve::of(records, "team", spec.rule).value();
    const auto later = *rc::gen::inRange<std::int64_t>(0, length_s);
    const GpuDuration recent = usage.used({now_s - kForecastSeconds, now_s});
    spec.gpu_time = usage.used({now_s + later - length_s, now_s});
    if (*rc::gen::arbitrary<bool>()) spec.gpu_time.nanos += recent.nanos * later / kForecastSeconds;
    spec.gpu_time = std::max(spec.gpu_time, gpu_seconds(1));
    return spec;
}

// As the ledger answers for the windows between the times.
UsageCurve curve_between(const std::vector<std::int64_t>& times,
                         const std::vector<UsageRecord>& records, const ChargeRule& rule) {
    std::vector<UsedWindow> windows;
    for (std::size_t i = 1; i < times.size(); ++i) {
        UsedWindow& next = windows.emplace_back(Window{times[i - 1], times[i]});
        for (const UsageRecord& record : records) {
            const Window part = intersect(record.time, next.window);
            if (record.name.ns != "team" || part.seconds() == 0) continue;
            UsageRecord cut = record;
            cut.time = part;
            next.used += charge(cut, rule);
        }
    }
    return UsageCurve::of_windows(windows);
}

// A budget of team "team" that is evaluated from its records, and each time also from sums.
class Budget {
  public:
    explicit Budget(std::vector<UsageRecord> records) : records_(std::move(records)) {}

    void evaluate(const BudgetSpec& spec, const ZoneRules& zone, std::int64_t now_s) {
        usage_ = UsageCurve::of(records_, "team", spec.rule).value();
        times_ = needed_times(state_, spec, zone, now_s);
        RC_ASSERT(times_.front() >=
                  std::max<std::int64_t>(needed_since(state_, spec, zone, now_s), 0));
        const UsageCurve sums = curve_between(times_, records_, spec.rule);
        const BudgetState by_sums = advance(state_, spec, zone, sums, now_s);
        state_ = advance(state_, spec, zone, usage_, now_s);
        RC_ASSERT(by_sums == *state_);
        verdict_ = judge(*state_, usage_);
        estimate_ = judge(by_sums, sums);
    }

    [[nodiscard]] const BudgetState& state() const { return *state_; }
    [[nodiscard]] const BudgetVerdict& verdict() const { return verdict_; }  // from the records
    [[nodiscard]] const BudgetVerdict& estimate() const { return estimate_; }
    [[nodiscard]] GpuDuration carried_over() const { return carried(*state_, usage_); }

    // Of a sliding period: when the part of it in which `unix_s` is has left it.
    [[nodiscard]] std::int64_t end_of_part(std::int64_t unix_s) const {
        const std::int64_t length_s = state_->period.sliding_s;
        return *std::ranges::lower_bound(times_, unix_s - length_s) + length_s;
    }
    // Whether use that goes on as in the last hour has spent the budget at `unix_s`.
    [[nodiscard]] bool is_exhausted_at(std::int64_t unix_s) const {
        const std::int64_t now_s = state_->last_seen_s;
        const GpuDuration recent = usage_.used({now_s - kForecastSeconds, now_s});
        const GpuDuration added{recent.nanos * (unix_s - now_s) / kForecastSeconds};
        return usage_.used({unix_s - state_->period.sliding_s, now_s}) + added >= verdict_.granted;
    }
    [[nodiscard]] bool is_within_a_part(std::int64_t a_s, std::int64_t b_s) const {
        return std::abs(a_s - b_s) <= state_->period.sliding_s / kSlidingParts;
    }

  private:
    std::vector<UsageRecord> records_;
    std::optional<BudgetState> state_;
    UsageCurve usage_;
    std::vector<std::int64_t> times_;
    BudgetVerdict verdict_;
    BudgetVerdict estimate_;
};

// Goal: with calendar periods, sums between the needed times give what all records give, also when
// the grants, the rule and the time zone database change, the clock jumps, and the controller was
// away for long. Method: inputs with closed periods, a carry-over and a debt.
REACHING_PROP(NeededTimesProperty, CalendarPeriodsAreExact) {
    const auto records = any_records();
    Budget budget(records);
    const Period period = any_calendar_spec().period;
    bool has_closed = false;
    bool has_carry_over = false;
    bool has_debt = false;
    for (const std::int64_t now_s : any_times(4, 12)) {
        BudgetSpec spec = any_calendar_spec();
        spec.period = period;
        budget.evaluate(spec, any_zone(), now_s);
        RC_ASSERT(budget.estimate() == budget.verdict());
        has_closed = has_closed || !budget.state().closed.empty();
        has_carry_over = has_carry_over || budget.carried_over() > GpuDuration{};
        has_debt = has_debt || budget.carried_over() < GpuDuration{};
    }
    reached(has_closed && has_carry_over && has_debt);
}

// Goal: likewise when the spec names other periods. Method: inputs with a debt from before the new
// period.
REACHING_PROP(NeededTimesProperty, DebtOfAnotherPeriodIsExact) {
    const auto records = any_records();
    Budget budget(records);
    Period period;
    bool has_debt = false;
    for (const std::int64_t now_s : any_times(4, 12)) {
        const bool is_sliding = *rc::gen::inRange(0, 5) == 0;
        const BudgetSpec spec = is_sliding ? any_sliding_spec(records, now_s) : any_calendar_spec();
        budget.evaluate(spec, any_zone(), now_s);
        if (!is_sliding) RC_ASSERT(budget.estimate() == budget.verdict());
        const bool is_another = std::exchange(period, spec.period) != spec.period;
        has_debt = has_debt || (is_another && budget.state().balance < GpuDuration{});
    }
    reached(has_debt);
}

// Goal: with sliding periods, sums give the same but the estimates.
REACHING_PROP(NeededTimesProperty, SlidingPeriodsAreExactButEstimates) {
    const auto records = any_records();
    Budget budget(records);
    for (const std::int64_t now_s : any_times(4, 8)) {
        budget.evaluate(any_sliding_spec(records, now_s), utc_rules(), now_s);
        BudgetVerdict estimate = budget.estimate();
        reached(estimate.used > GpuDuration{} && !estimate.is_spent);
        estimate.refilled_at_s = budget.verdict().refilled_at_s;
        estimate.exhausted_at_s = budget.verdict().exhausted_at_s;
        RC_ASSERT(estimate == budget.verdict());
    }
}

// Goal: a sliding period's refill is known to one part of the period.
REACHING_PROP(NeededTimesProperty, SlidingRefillIsWithinAPart) {
    const auto records = any_busy_hours();
    Budget budget(records);
    const auto now_s = kSomeMidnight + *rc::gen::inRange<std::int64_t>(0, 5 * kHour);
    budget.evaluate(any_sliding_spec(records, now_s), utc_rules(), now_s);
    const auto exact_s = budget.verdict().refilled_at_s;
    const auto estimate_s = budget.estimate().refilled_at_s;
    reached(exact_s && estimate_s != exact_s);
    RC_ASSERT(estimate_s.has_value() == exact_s.has_value());
    if (exact_s) RC_ASSERT(budget.is_within_a_part(*estimate_s, *exact_s));
}

// Goal: a sliding period's forecast is known to one part of the period. It may be later, or
// missing, only if the budget is exhausted within a part and no longer at its end.
REACHING_PROP(NeededTimesProperty, SlidingForecastIsWithinAPart) {
    const auto records = any_busy_hours();
    for (int i = 0; i < 5; ++i) {
        Budget budget(records);
        const auto now_s = kSomeMidnight + *rc::gen::inRange<std::int64_t>(0, 5 * kHour);
        budget.evaluate(any_sliding_spec(records, now_s), utc_rules(), now_s);
        const auto exact_s = budget.verdict().exhausted_at_s;
        const auto estimate_s = budget.estimate().exhausted_at_s;
        reached(exact_s && estimate_s && estimate_s != exact_s);
        if (!exact_s) {
            RC_ASSERT(!estimate_s);
        } else if (budget.is_exhausted_at(budget.end_of_part(*exact_s))) {
            RC_ASSERT(estimate_s && budget.is_within_a_part(*estimate_s, *exact_s));
        } else {
            RC_ASSERT(!estimate_s || *estimate_s > *exact_s);
        }
    }
}

}  // namespace
}  // namespace tessera

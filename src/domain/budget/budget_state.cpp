#include "domain/budget/budget_state.hpp"

#include <algorithm>
#include <iterator>

namespace tessera {
namespace {

// Time does not go back.
std::int64_t latest_of(const std::optional<BudgetState>& before, std::int64_t now_s) {
    const std::int64_t valid_s = std::clamp<std::int64_t>(now_s, 0, kEndOfTime - 1);
    return before ? std::max(valid_s, before->last_seen_s) : valid_s;
}

// What a period leaves to the next one.
GpuDuration left_over(GpuDuration balance, const ClosedPeriod& period, const UsageCurve& usage) {
    const GpuDuration remaining = balance + period.gpu_time - usage.used(period.window);
    return std::min(remaining, period.carry_over);
}

ClosedPeriod closed_current(const BudgetState& state) {
    return {state.current, state.gpu_time, state.carry_over};
}

// The periods until `unix_s`, which cuts the last one. Not of a sliding period.
std::vector<ClosedPeriod> periods_until(const BudgetState& state, std::int64_t unix_s) {
    std::vector<ClosedPeriod> periods = state.closed;
    periods.push_back(closed_current(state));
    std::erase_if(periods, [&](const ClosedPeriod& each) { return each.window.from_s >= unix_s; });
    for (ClosedPeriod& each : periods)
        each.window.to_s = std::min(each.window.to_s, unix_s);
    return periods;
}

// The debt from before `unix_s`, as a negative amount; 0: none.
GpuDuration debt_before(const BudgetState& state, const UsageCurve& usage, std::int64_t unix_s) {
    if (state.period.kind == PeriodKind::sliding) return {};
    GpuDuration balance = state.balance;
    for (const ClosedPeriod& period : periods_until(state, unix_s))
        balance = left_over(balance, period, usage);
    return std::min(balance, GpuDuration{});
}

bool continues(const std::optional<BudgetState>& before, const BudgetSpec& spec) {
    return before && before->period == spec.period;
}

// Another period than before, or none before.
BudgetState begin(const std::optional<BudgetState>& before, const BudgetSpec& spec,
                  const ZoneRules& zone, const UsageCurve& usage, std::int64_t now_s) {
    BudgetState state{.last_seen_s = now_s, .period = spec.period};
    state.current = period_at(spec.period, zone, now_s);
    if (before && spec.period.kind != PeriodKind::sliding)
        state.balance = debt_before(*before, usage, state.current.from_s);
    return state;
}

void close_periods(BudgetState& state, const ZoneRules& zone) {
    while (state.current.to_s <= state.last_seen_s) {
        state.closed.push_back(closed_current(state));
        const std::int64_t from_s = state.current.to_s;
        state.current = {from_s, period_at(state.period, zone, from_s).to_s};
    }
}

// As advance() returns it, with the grants of the last evaluation, and before periods become part
// of the balance. Its times do not depend on the usage.
BudgetState with_all_periods(const std::optional<BudgetState>& before, const BudgetSpec& spec,
                             const ZoneRules& zone, const UsageCurve& usage, std::int64_t now_s) {
    BudgetState state = continues(before, spec) ? *before : begin(before, spec, zone, usage, now_s);
    state.last_seen_s = now_s;
    if (spec.period.kind == PeriodKind::sliding) {
        state.current = period_at(spec.period, zone, now_s);
    } else {
        close_periods(state, zone);
    }
    return state;
}

void fold_old_periods(BudgetState& state, const UsageCurve& usage) {
    std::size_t old = 0;
    while (old < state.closed.size() &&
           state.closed[old].window.to_s + kMostLateSeconds < state.last_seen_s) {
        state.balance = left_over(state.balance, state.closed[old], usage);
        ++old;
    }
    state.closed.erase(state.closed.begin(),
                       state.closed.begin() + static_cast<std::ptrdiff_t>(old));
}

}  // namespace

BudgetState advance(const std::optional<BudgetState>& before, const BudgetSpec& spec,
                    const ZoneRules& zone, const UsageCurve& usage, std::int64_t now_s) {
    BudgetState state = with_all_periods(before, spec, zone, usage, latest_of(before, now_s));
    if (spec.period.kind != PeriodKind::sliding) fold_old_periods(state, usage);
    state.gpu_time = spec.gpu_time;
    state.carry_over = spec.carry_over;
    return state;
}

std::int64_t needed_since(const std::optional<BudgetState>& before, const BudgetSpec& spec,
                          const ZoneRules& zone, std::int64_t now_s) {
    const std::int64_t latest_s = latest_of(before, now_s);
    std::int64_t since_s =
        std::min(period_at(spec.period, zone, latest_s).from_s, latest_s - kForecastSeconds);
    if (before && before->period.kind != PeriodKind::sliding) {
        since_s = std::min(since_s, before->closed.empty() ? before->current.from_s
                                                           : before->closed.front().window.from_s);
    }
    return since_s;
}

std::vector<std::int64_t> needed_times(const std::optional<BudgetState>& before,
                                       const BudgetSpec& spec, const ZoneRules& zone,
                                       std::int64_t now_s) {
    const BudgetState state = with_all_periods(before, spec, zone, {}, latest_of(before, now_s));
    std::vector<ClosedPeriod> periods = state.closed;
    periods.push_back(closed_current(state));
    std::vector<std::int64_t> times = {state.last_seen_s - kForecastSeconds, state.last_seen_s};
    if (spec.period.kind == PeriodKind::sliding) {
        for (std::int64_t i = 1; i < kSlidingParts; ++i)
            times.push_back(state.current.from_s + spec.period.sliding_s * i / kSlidingParts);
    } else if (before && before->period.kind != PeriodKind::sliding && !continues(before, spec)) {
        std::ranges::copy(periods_until(*before, state.current.from_s),
                          std::back_inserter(periods));
    }
    for (const ClosedPeriod& each : periods) {
        times.push_back(each.window.from_s);
        times.push_back(each.window.to_s);
    }
    // There are no records before or after.
    for (std::int64_t& unix_s : times)
        unix_s = std::clamp<std::int64_t>(unix_s, 0, kEndOfTime);
    std::ranges::sort(times);
    times.erase(std::ranges::unique(times).begin(), times.end());
    return times;
}

GpuDuration carried(const BudgetState& state, const UsageCurve& usage) {
    GpuDuration balance = state.balance;
    for (const ClosedPeriod& period : state.closed)
        balance = left_over(balance, period, usage);
    return balance;
}

}  // namespace tessera

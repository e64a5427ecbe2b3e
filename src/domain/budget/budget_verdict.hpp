// Where a budget stands: what is used and left, whether it is spent, and when it will be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/budget/budget_state.hpp"

namespace tessera {

// Percents of a budget at which the namespace gets an event.
inline constexpr int kThresholds[] = {80, 95, 100};

struct BudgetVerdict {
    Window period;
    GpuDuration granted;    // the period's GPU time, with what was carried over or less the debt
    GpuDuration used;       // in the period
    GpuDuration remaining;  // negative: debt
    bool is_spent = false;  // nothing remains
    int crossed = 0;        // the greatest of kThresholds that `used` has reached; 0: none
    // When nothing remains if use goes on as in the last hour; empty if the budget is spent, or
    // lasts until its period ends. With sliding periods, what leaves the window is taken into
    // account.
    std::optional<std::int64_t> exhausted_at_s;
    // When the budget is granted GPU time again: the end of the period. With sliding periods: when
    // something remains if nothing more is used; empty if something does.
    std::optional<std::int64_t> refilled_at_s;

    friend bool operator==(const BudgetVerdict&, const BudgetVerdict&) = default;
};

// At state.last_seen_s, of a state that advance() returned. `usage` as there, or of the windows
// between needed_times(). From windows, two times of a sliding period are estimates:
// - refilled_at_s is less than one part of the period (kSlidingParts) too early or too late;
// - exhausted_at_s likewise, but a budget that is exhausted for less than a part may be missed. The
//   forecast is then a later time or none.
BudgetVerdict judge(const BudgetState& state, const UsageCurve& usage);

// How many seconds the clock is behind the last evaluation; 0: it is not. The budget then waits.
std::int64_t clock_behind_s(const BudgetState& state, std::int64_t now_s);

// Which thresholds are to be reported, each once. `reported` is the greatest one that was reported,
// 0 for none, and is updated. A threshold is reported again after use fell 5 points below it: in a
// new period, with a larger budget, or in a sliding period.
std::vector<int> take_crossed(int& reported, const BudgetVerdict& verdict);

}  // namespace tessera

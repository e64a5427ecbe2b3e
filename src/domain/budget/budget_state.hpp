// What a budget remembers from one evaluation to the next, and how time changes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/budget/budget_spec.hpp"
#include "domain/budget/usage_curve.hpp"

namespace tessera {

// A record may arrive this late, after a node was away, and still count for its period and for what
// that period left to the next one.
inline constexpr std::int64_t kMostLateSeconds = std::int64_t{8} * 24 * 3600;

// A forecast assumes the mean rate of this time.
inline constexpr std::int64_t kForecastSeconds = 3600;

// A sliding period has this many equal parts, between which needed_times() wants the usage.
inline constexpr int kSlidingParts = 12;

// A period that is over, with what the budget granted in it.
struct ClosedPeriod {
    Window window;
    GpuDuration gpu_time;
    GpuDuration carry_over;

    friend bool operator==(const ClosedPeriod&, const ClosedPeriod&) = default;
};

// Usage is not in it: the ledger alone says what was used. So evaluating twice charges nothing
// twice, and a tenant that edits the status of its GpuBudget changes nothing.
struct BudgetState {
    // The greatest time of an evaluation. Budgets never go behind it: a clock that was set back
    // neither refills a budget nor opens a period again.
    std::int64_t last_seen_s = 0;
    Period period;
    Window current;  // as it was when it began: a newer time zone database counts from its end on
    GpuDuration gpu_time;    // that the spec granted at the last evaluation
    GpuDuration carry_over;  // likewise
    // What was left over (positive) or owed (negative) before the first closed period.
    GpuDuration balance;
    std::vector<ClosedPeriod> closed;  // adjacent, the oldest first, until `current`

    friend bool operator==(const BudgetState&, const BudgetState&) = default;
};

// The state at `now_s`, in [0, kEndOfTime), or at the last evaluation if that is later. `before` is
// empty for a new budget, which begins with the period that contains `now_s`: what the namespace
// used in it before the budget was made counts. `usage` has the namespace's usage by spec.rule,
// since needed_since() of these arguments. Periods that ended more than kMostLateSeconds ago become
// part of the balance. A closed period keeps the grant that counted when the last evaluation saw
// it.
//
// If the spec names another period, zone or sliding length, the budget begins again with the new
// period that contains the time. Debt from before that period remains, as of the last evaluation;
// what was left over does not. What was used between the end of the old period and the begin of the
// new one counts for neither, if nothing was evaluated meanwhile.
BudgetState advance(const std::optional<BudgetState>& before, const BudgetSpec& spec,
                    const ZoneRules& zone, const UsageCurve& usage, std::int64_t now_s);

// Records that ended before this time matter neither to advance() with these arguments nor to
// judge() of its result.
std::int64_t needed_since(const std::optional<BudgetState>& before, const BudgetSpec& spec,
                          const ZoneRules& zone, std::int64_t now_s);

// The times between which the usage must be known, in order and each once, in [0, kEndOfTime]. From
// UsageCurve::of_windows() of the windows between these times, advance() with these arguments and
// judge() of its result give the same as from all records. Two times of a verdict are estimates if
// the period is sliding (BudgetVerdict).
//
// After a long absence there are as many times as periods that close, which advance() visits too:
// ten years of days are 3650. There are at most kSlidingParts + 3 more times than periods.
std::vector<std::int64_t> needed_times(const std::optional<BudgetState>& before,
                                       const BudgetSpec& spec, const ZoneRules& zone,
                                       std::int64_t now_s);

// What the closed periods leave to the current one: at most the carry-over, or a debt.
GpuDuration carried(const BudgetState& state, const UsageCurve& usage);

}  // namespace tessera

#include "domain/budget/budget_verdict.hpp"

#include <algorithm>

namespace tessera {
namespace {

constexpr int kHysteresisPoints = 5;

bool has_reached(const BudgetVerdict& verdict, int percent) {
    return verdict.granted <= GpuDuration{} ||
           verdict.used.nanos * 100 >= verdict.granted.nanos * percent;
}

// The first time in (from_s, to_s] for which `is_true`, which stays true once it is; to_s if none.
template <class Predicate>
std::int64_t first_time(std::int64_t from_s, std::int64_t to_s, const Predicate& is_true) {
    while (to_s - from_s > 1) {
        const std::int64_t middle_s = from_s + (to_s - from_s) / 2;
        (is_true(middle_s) ? to_s : from_s) = middle_s;
    }
    return to_s;
}

// Of a sliding period: what was used before now and is still in the window that ends at `unix_s`.
class SlidingUse {
  public:
    SlidingUse(const BudgetState& state, const UsageCurve& usage)
        : now_s_(state.last_seen_s), length_s_(state.period.sliding_s), usage_(usage) {}

    [[nodiscard]] GpuDuration at(std::int64_t unix_s) const {
        return usage_.used({unix_s - length_s_, now_s_});
    }
    // When all of it has left the window.
    [[nodiscard]] std::int64_t end_s() const { return now_s_ + length_s_; }
    // The times after now at which its rate changes, in order; the last one is end_s().
    [[nodiscard]] std::vector<std::int64_t> changes() const {
        std::vector<std::int64_t> times;
        for (const UsageCurve::Step& step : usage_.steps()) {
            if (step.from_s + length_s_ > now_s_ && step.from_s < now_s_)
                times.push_back(step.from_s + length_s_);
        }
        times.push_back(end_s());
        return times;
    }

  private:
    std::int64_t now_s_;
    std::int64_t length_s_;
    const UsageCurve& usage_;
};

std::optional<std::int64_t> exhausted_in_period(const BudgetVerdict& verdict, GpuDuration recent,
                                                std::int64_t now_s) {
    const WideInt needed = verdict.remaining.nanos * kForecastSeconds;
    const WideInt seconds = (needed + recent.nanos - 1) / recent.nanos;
    if (seconds >= verdict.period.to_s - now_s) return std::nullopt;
    return now_s + static_cast<std::int64_t>(seconds);
}

// Use is linear between two changes, so it reaches the budget between them at most once.
std::optional<std::int64_t> exhausted_in_window(const SlidingUse& use, GpuDuration granted,
                                                GpuDuration recent, std::int64_t now_s) {
    const auto is_exhausted = [&](std::int64_t unix_s) {
        const GpuDuration added{recent.nanos * (unix_s - now_s) / kForecastSeconds};
        return use.at(unix_s) + added >= granted;
    };
    std::int64_t from_s = now_s;
    for (const std::int64_t to_s : use.changes()) {
        if (is_exhausted(to_s)) return first_time(from_s, to_s, is_exhausted);
        from_s = to_s;
    }
    return std::nullopt;
}

}  // namespace

BudgetVerdict judge(const BudgetState& state, const UsageCurve& usage) {
    const bool is_sliding = state.period.kind == PeriodKind::sliding;
    const std::int64_t now_s = state.last_seen_s;
    BudgetVerdict verdict{.period = state.current};
    verdict.granted = state.gpu_time + (is_sliding ? GpuDuration{} : carried(state, usage));
    verdict.used = usage.used(state.current);
    verdict.remaining = verdict.granted - verdict.used;
    verdict.is_spent = verdict.remaining <= GpuDuration{};
    for (const int percent : kThresholds)
        if (has_reached(verdict, percent)) verdict.crossed = percent;

    const SlidingUse use(state, usage);
    if (!is_sliding) {
        verdict.refilled_at_s = state.current.to_s;
    } else if (verdict.is_spent) {
        verdict.refilled_at_s = first_time(now_s, use.end_s(), [&](std::int64_t unix_s) {
            return use.at(unix_s) < verdict.granted;
        });
    }
    const GpuDuration recent = usage.used({now_s - kForecastSeconds, now_s});
    if (verdict.is_spent || recent <= GpuDuration{}) return verdict;
    verdict.exhausted_at_s = is_sliding ? exhausted_in_window(use, verdict.granted, recent, now_s)
                                        : exhausted_in_period(verdict, recent, now_s);
    return verdict;
}

std::int64_t clock_behind_s(const BudgetState& state, std::int64_t now_s) {
    return std::max<std::int64_t>(state.last_seen_s - now_s, 0);
}

std::vector<int> take_crossed(int& reported, const BudgetVerdict& verdict) {
    int remembered = 0;
    std::vector<int> fresh;
    for (const int percent : kThresholds) {
        if (percent <= reported && has_reached(verdict, percent - kHysteresisPoints))
            remembered = percent;
        if (percent > reported && has_reached(verdict, percent)) fresh.push_back(percent);
    }
    reported = fresh.empty() ? remembered : fresh.back();
    return fresh;
}

}  // namespace tessera

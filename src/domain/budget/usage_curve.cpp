#include "domain/budget/usage_curve.hpp"

#include <algorithm>
#include <map>

#include "domain/budget/roll_up.hpp"

namespace tessera {

Result<UsageCurve> UsageCurve::of(std::span<const UsageRecord> records, std::string_view ns,
                                  const ChargeRule& rule) {
    for (const UsageRecord& record : records)
        TRY_VOID(check_record(record));
    std::map<std::int64_t, WideInt> changes;  // of the rate
    std::map<std::string, GpuWeight> weights;
    for (const UsageRecord& record : distinct_records(records)) {
        if (record.name.ns != ns) continue;
        const auto [weight, is_new] = weights.try_emplace(record.model);
        if (is_new) weight->second = weight_of(rule, record.model);
        const std::int64_t rate = charge_rate(record, rule.basis, weight->second);
        changes[record.time.from_s] += rate;
        changes[record.time.to_s] -= rate;
    }
    UsageCurve curve;
    for (const auto& [unix_s, change] : changes) {
        if (change == 0) continue;
        Step step{unix_s, change, {}};
        if (!curve.steps_.empty()) {
            const Step& last = curve.steps_.back();
            step.rate += last.rate;
            step.before = last.before + GpuDuration{last.rate * (unix_s - last.from_s)};
        }
        curve.steps_.push_back(step);
    }
    return curve;
}

GpuDuration UsageCurve::used_before(std::int64_t unix_s) const {
    const auto next = std::ranges::upper_bound(steps_, unix_s, {}, &Step::from_s);
    if (next == steps_.begin()) return {};
    const Step& step = *std::prev(next);
    // The rate after the last step is 0, so the product is at most what the records were charged.
    return step.before + GpuDuration{step.rate * (unix_s - step.from_s)};
}

GpuDuration UsageCurve::used(Window window) const {
    if (window.from_s >= window.to_s) return {};
    return used_before(window.to_s) - used_before(window.from_s);
}

}  // namespace tessera

#include "domain/budget/usage_curve.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "domain/budget/roll_up.hpp"

namespace tessera {
namespace {

struct Change {
    std::int64_t unix_s = 0;
    std::int64_t rate = 0;  // is added
};

std::vector<UsageCurve::Step> steps_of(std::vector<Change> changes) {
    std::ranges::sort(changes, {}, &Change::unix_s);
    std::vector<UsageCurve::Step> steps;
    UsageCurve::Step next;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const std::int64_t unix_s = changes[i].unix_s;
        next.before += GpuDuration{next.rate * (unix_s - next.from_s)};
        next.from_s = unix_s;
        next.rate += changes[i].rate;
        const bool is_last = i + 1 == changes.size() || changes[i + 1].unix_s != unix_s;
        if (is_last && next.rate != (steps.empty() ? 0 : steps.back().rate)) steps.push_back(next);
    }
    return steps;
}

}  // namespace

Result<UsageCurve> UsageCurve::of(std::span<const UsageRecord> records, std::string_view ns,
                                  const ChargeRule& rule) {
    for (const UsageRecord& record : records)
        TRY_VOID(check_record(record));
    std::vector<Change> changes;
    std::map<std::string, GpuWeight> weights;
    visit_distinct(records, [&](const UsageRecord& record) {
        if (record.name.ns != ns) return;
        const auto [weight, is_new] = weights.try_emplace(record.model);
        if (is_new) weight->second = weight_of(rule, record.model);
        const std::int64_t rate = charge_rate(record, rule.basis, weight->second);
        changes.push_back({record.time.from_s, rate});
        changes.push_back({record.time.to_s, -rate});
    });
    UsageCurve curve;
    curve.steps_ = steps_of(std::move(changes));
    return curve;
}

UsageCurve UsageCurve::of_windows(std::span<const UsedWindow> windows) {
    UsageCurve curve;
    Step next;
    for (const auto& [window, used] : windows) {
        TESSERA_CHECK(window.seconds() > 0 && used >= GpuDuration{}, "a window can have usage");
        TESSERA_CHECK(curve.steps_.empty() || window.from_s >= next.from_s,
                      "windows follow each other");
        if (!curve.steps_.empty() && window.from_s > next.from_s) curve.steps_.push_back(next);
        curve.steps_.push_back({window.from_s, used.nanos / window.seconds(), next.before});
        next = {window.to_s, 0, next.before + used};
    }
    if (!windows.empty()) curve.steps_.push_back(next);
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

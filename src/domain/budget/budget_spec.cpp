#include "domain/budget/budget_spec.hpp"

#include <fmt/format.h>

#include <array>

#include "domain/budget/field_text.hpp"
#include "domain/request/gpu_rules.hpp"

namespace tessera {
namespace {

constexpr auto kActions =
    std::to_array<NamedValue<WhenSpent>>({{WhenSpent::lower_priority, "lower-priority"},
                                          {WhenSpent::suspend, "suspend"},
                                          {WhenSpent::deny_new, "deny-new"},
                                          {WhenSpent::none, "none"}});

constexpr std::string_view kGpuTime = "spec.gpuTime";
constexpr std::string_view kCounts = "spec.counts";
constexpr std::string_view kModelWeights = "spec.modelWeights";
constexpr std::string_view kPeriod = "spec.period";
constexpr std::string_view kTimeZone = "spec.timeZone";
constexpr std::string_view kSlidingWindow = "spec.slidingWindow";
constexpr std::string_view kCarryOver = "spec.carryOver";
constexpr std::string_view kWhenSpent = "spec.whenSpent";

tl::unexpected<Error> refuse(std::string_view field, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("{}: {}", field, why));
}

// The result of a parser, with the field's name in an error.
template <class T>
Result<T> in_field(std::string_view field, Result<T> result) {
    if (!result) return fail(result.error().in(field));
    return result;
}

Result<std::map<std::string, GpuWeight>> read_weights(
    const std::map<std::string, std::string>& texts) {
    if (texts.size() > kMostModelWeights) {
        return refuse(kModelWeights, fmt::format("has {} models; write at most {}", texts.size(),
                                                 kMostModelWeights));
    }
    std::map<std::string, GpuWeight> weights;
    for (const auto& [model, text] : texts) {
        const std::string field =
            fmt::format("{}[\"{}\"]", kModelWeights, std::string_view(model).substr(0, 64));
        if (!is_of_model(model, model))
            return refuse(field, "names no model; write words of its name, such as A100");
        for (const auto& [other, weight] : weights) {
            if (other.size() == model.size() && is_of_model(other, model))
                return refuse(field, fmt::format("is \"{}\" again; keep one of them", other));
        }
        TRY(const GpuWeight weight, in_field(field, parse_gpu_weight(text)));
        weights.emplace(model, weight);
    }
    return weights;
}

Result<std::int64_t> read_sliding_seconds(std::string_view text) {
    if (text.empty())
        return refuse(kSlidingWindow, "is missing; write the length of the period, such as 24h");
    TRY(const GpuDuration length, in_field(kSlidingWindow, parse_gpu_duration(text)));
    if (length.nanos % kNanosPerSecond != 0)
        return refuse(kSlidingWindow, fmt::format("\"{}\" is no whole number of seconds", text));
    const WideInt seconds = length.nanos / kNanosPerSecond;
    if (seconds < kLeastSlidingSeconds || seconds > kMostSlidingSeconds) {
        return refuse(kSlidingWindow,
                      fmt::format("\"{}\" is out of range; write 1m to 366d", text));
    }
    return static_cast<std::int64_t>(seconds);
}

Result<Period> read_period(const BudgetFields& fields) {
    Period period;
    if (!fields.period.empty()) {
        TRY(period.kind, in_field(kPeriod, parse_period_kind(fields.period)));
    }
    if (period.kind == PeriodKind::sliding) {
        if (!fields.time_zone.empty())
            return refuse(kTimeZone, "has no effect on a sliding period; remove it");
        TRY(period.sliding_s, read_sliding_seconds(fields.sliding_window));
        return period;
    }
    if (!fields.sliding_window.empty()) {
        return refuse(kSlidingWindow, fmt::format("has no effect on a {} period; remove it, or "
                                                  "write sliding into {}",
                                                  to_string(period.kind), kPeriod));
    }
    if (!fields.time_zone.empty()) period.time_zone = fields.time_zone;
    return period;
}

}  // namespace

std::string_view to_string(WhenSpent action) {
    return name_of(kActions, action);
}

Result<WhenSpent> parse_when_spent(std::string_view text) {
    return value_named(kActions, text, "lower-priority, suspend, deny-new or none");
}

Result<BudgetSpec> parse_budget(const BudgetFields& fields) {
    BudgetSpec spec;
    if (fields.gpu_time.empty()) return refuse(kGpuTime, "is missing; write GPU time such as 20h");
    TRY(spec.gpu_time, in_field(kGpuTime, parse_gpu_duration(fields.gpu_time)));
    if (spec.gpu_time == GpuDuration{}) {
        return refuse(kGpuTime, fmt::format("\"{}\" is zero; write a positive amount such as 20h",
                                            fields.gpu_time));
    }
    if (!fields.counts.empty()) {
        TRY(spec.rule.basis, in_field(kCounts, parse_charge_basis(fields.counts)));
    }
    TRY(spec.rule.weights, read_weights(fields.model_weights));
    TRY(spec.period, read_period(fields));
    if (!fields.carry_over.empty()) {
        TRY(spec.carry_over, in_field(kCarryOver, parse_gpu_duration(fields.carry_over)));
        if (spec.period.kind == PeriodKind::sliding)
            return refuse(kCarryOver, "has no effect on a sliding period; remove it");
    }
    if (!fields.when_spent.empty()) {
        TRY(spec.when_spent, in_field(kWhenSpent, parse_when_spent(fields.when_spent)));
    }
    return spec;
}

Result<> check_one_budget(std::string_view ns, std::span<const std::string> names) {
    if (names.size() < 2) return {};
    return fail(Code::conflict,
                fmt::format("namespace {} has {} GpuBudgets, {} and {} among them; keep one and "
                            "delete the others",
                            ns, names.size(), names[0], names[1]));
}

}  // namespace tessera

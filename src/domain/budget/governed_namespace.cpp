#include "domain/budget/governed_namespace.hpp"

#include <fmt/format.h>

#include "base/utc_text.hpp"

namespace tessera {

std::string use_text(const BudgetVerdict& verdict, PeriodKind kind) {
    const std::string text =
        fmt::format("{} of {} of GPU time are used ", to_string(whole_seconds(verdict.used)),
                    to_string(whole_seconds(verdict.granted)));
    if (kind == PeriodKind::sliding)
        return text + "in the last " + to_string(gpu_seconds(verdict.period.seconds()));
    return text + "until " + utc_text(verdict.period.to_s);
}

Result<> may_create_pod(const std::string& ns, const GovernedNamespace& governed) {
    if (governed.when_spent != WhenSpent::deny_new || !governed.verdict.is_spent) return {};
    std::string text = fmt::format("the GpuBudget {} of the namespace {} is spent: {}",
                                   governed.budget, ns, use_text(governed.verdict, governed.kind));
    if (governed.verdict.refilled_at_s)
        text += fmt::format("; create the pod after {}", utc_text(*governed.verdict.refilled_at_s));
    return fail(Code::permission_denied, std::move(text));
}

std::string_view priority_class_of(const GovernedNamespace& governed, std::string_view own,
                                   std::int64_t priority) {
    if (governed.when_spent != WhenSpent::lower_priority) return {};
    const bool is_below = !own.empty() && priority < kLowerPriorityValue;
    if (governed.verdict.is_spent) return is_below ? std::string_view() : kLowerPriority;
    return own.empty() ? kDefaultPriority : std::string_view();
}

}  // namespace tessera

// A namespace with a budget, as the admission of its pods needs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/budget/budget_spec.hpp"
#include "domain/budget/budget_verdict.hpp"

namespace tessera {

struct GovernedNamespace {
    std::string budget;  // the name of its GpuBudget
    WhenSpent when_spent = WhenSpent::none;
    PeriodKind kind = PeriodKind::monthly;
    BudgetVerdict verdict;
};

// The PriorityClasses of the chart, with the names of kubernetes-gpusharing.
inline constexpr std::string_view kDefaultPriority = "gpu-default-priority";
inline constexpr std::string_view kLowerPriority = "gpu-lower-priority";

inline constexpr std::int64_t kLowerPriorityValue = 10'000;

// The PriorityClass that a new pod gets which requests GPUs; empty: it stays unchanged. `own`: the
// pod's class, if it has one; `priority`: what the API server made of it. A spent budget that
// lowers priorities replaces every class that is not below. Before that, pods with a class keep it.
std::string_view priority_class_of(const GovernedNamespace& governed, std::string_view own,
                                   std::int64_t priority);

// "16h of 20h of GPU time are used until 2026-12-01T00:00:00Z", or "in the last 24h" with the
// period sliding: without fractions of a second.
std::string use_text(const BudgetVerdict& verdict, PeriodKind kind);

// Whether a new pod that requests GPUs may be created in the namespace `ns`. permission_denied: its
// budget is spent and denies new pods; the text says when to try again.
Result<> may_create_pod(const std::string& ns, const GovernedNamespace& governed);

}  // namespace tessera

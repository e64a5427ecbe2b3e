// What a GpuBudget grants a namespace, and its validation.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/budget/charge.hpp"
#include "domain/budget/gpu_duration.hpp"
#include "domain/budget/period.hpp"

namespace tessera {

// What happens when a budget is spent.
enum class WhenSpent {
    lower_priority,  // new pods get a low priority, running pods become preemptible
    suspend,         // running Jobs are suspended after a grace period
    deny_new,        // new GPU pods are refused
    none,            // nothing: the budget only measures
};

// "lower-priority", "suspend", "deny-new" or "none".
std::string_view to_string(WhenSpent action);
Result<WhenSpent> parse_when_spent(std::string_view text);

struct BudgetSpec {
    GpuDuration gpu_time;  // granted in each period; positive
    ChargeRule rule;       // counts for all usage that the ledger has, also from before a change
    Period period;
    // The most of an unused budget that the next period gets in addition. Debt has no bound: the
    // next periods pay it back.
    GpuDuration carry_over;
    WhenSpent when_spent = WhenSpent::lower_priority;

    friend bool operator==(const BudgetSpec&, const BudgetSpec&) = default;
};

inline constexpr std::int64_t kLeastSlidingSeconds = kIntervalSeconds;
inline constexpr std::int64_t kMostSlidingSeconds = std::int64_t{366} * 24 * 3600;
inline constexpr std::size_t kMostModelWeights = 64;

// The texts of a GpuBudget's spec; an empty text is a field that is not set.
struct BudgetFields {
    std::string gpu_time;                              // spec.gpuTime: "20h"; required
    std::string counts;                                // spec.counts: "larger" by default
    std::map<std::string, std::string> model_weights;  // spec.modelWeights: {"A100": "2"}
    std::string period;                                // spec.period: "monthly" by default
    std::string time_zone;       // spec.timeZone: "UTC" by default; only its form is checked here
    std::string sliding_window;  // spec.slidingWindow: "24h"; of the period sliding alone
    std::string carry_over;      // spec.carryOver: "0s" by default; not with the period sliding
    std::string when_spent;      // spec.whenSpent: "lower-priority" by default
};

// Errors are invalid_argument. They begin with the field's name, quote its value and say what to
// write.
Result<BudgetSpec> parse_budget(const BudgetFields& fields);

// A namespace has at most one budget: with two it would be open which one counts. `names` are its
// GpuBudgets. The conflict names them and says what to do.
Result<> check_one_budget(std::string_view ns, std::span<const std::string> names);

}  // namespace tessera

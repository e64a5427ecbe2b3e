// A GpuBudget as users write it, and what its status tells them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "domain/budget/budget_spec.hpp"
#include "domain/budget/budget_verdict.hpp"

namespace tessera {

// A condition of Kubernetes.
struct BudgetCondition {
    std::string status;  // "True", "False" or "Unknown"
    std::string since;   // its last transition, RFC 3339

    friend bool operator==(const BudgetCondition&, const BudgetCondition&) = default;
};

struct BudgetObject {
    std::string ns;
    std::string name;
    std::string uid;
    std::int64_t generation = 0;
    BudgetFields fields;
    std::string fault;  // why the fields could not be read; empty: they could
    // By type. Users may have edited them: they only say since when a condition holds.
    std::map<std::string, BudgetCondition> conditions;
};

// Why a budget is not evaluated, the values of the reason of the condition Ready.
enum class BudgetFault {
    none,
    invalid_spec,
    several_budgets,     // in the namespace
    ledger_unavailable,  // what was known counts on
};

struct BudgetReport {
    BudgetFault fault = BudgetFault::none;
    std::string message;  // for people
    PeriodKind kind = PeriodKind::monthly;
    // The last one that is known; empty: none, and the status keeps what it has.
    std::optional<BudgetVerdict> verdict{};
};

struct BudgetEvent {
    std::string ns;
    std::string name;  // of the GpuBudget
    std::string uid;
    bool is_warning = false;
    std::string reason;
    std::string message;
};

}  // namespace tessera

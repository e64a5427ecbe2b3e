// The GpuBudgets of the cluster.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "domain/budget/budget_object.hpp"

namespace tessera {

// One thread. Each call ends by its own deadline.
class GpuBudgets {
  public:
    virtual ~GpuBudgets() = default;

    // Of all namespaces. not_found: the cluster does not know GpuBudgets.
    virtual Result<std::vector<BudgetObject>> list() = 0;

    // Writes the report into the budget's status, if it says something new: what a user edited
    // there is not noticed. not_found: the budget is gone.
    virtual Result<> report(const BudgetObject& budget, const BudgetReport& report) = 0;

    // Writes an event about the budget.
    virtual Result<> tell(const BudgetEvent& event) = 0;
};

}  // namespace tessera

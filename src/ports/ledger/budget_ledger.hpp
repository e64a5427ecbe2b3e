// The ledger as the controllers use it: what namespaces used, and what is kept of their budgets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "domain/budget/kept_budget.hpp"
#include "domain/budget/usage_sum.hpp"

namespace tessera {

// Any thread may call. Each call ends by its own deadline. unavailable: the ledger gave no answer,
// or not this one; call again later.
class BudgetLedger {
  public:
    virtual ~BudgetLedger() = default;

    // What each namespace used in the window; one namespace alone if `ns` is not empty. Namespaces
    // without usage are left out.
    virtual Result<std::map<std::string, std::vector<UsageSum>>> usage(Window window,
                                                                       const std::string& ns) = 0;
    // By namespace.
    virtual Result<std::map<std::string, KeptBudget>> budgets() = 0;
    // All of them or none. A budget whose state was evaluated later than this one stays unchanged:
    // a controller that no longer leads overwrites nothing.
    virtual Result<> keep(const std::map<std::string, KeptBudget>& budgets) = 0;
};

}  // namespace tessera

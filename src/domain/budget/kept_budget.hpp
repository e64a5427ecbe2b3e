// What the ledger keeps of a namespace's budget from one evaluation to the next.
#pragma once

#include <string>

#include "domain/budget/budget_state.hpp"

namespace tessera {

struct KeptBudget {
    std::string uid;  // of the GpuBudget; one with another uid has nothing to do with this state
    BudgetState state;
    int reported = 0;  // the greatest threshold that was reported (take_crossed); 0: none

    friend bool operator==(const KeptBudget&, const KeptBudget&) = default;
};

}  // namespace tessera

// The rows with what is kept of the budgets of namespaces. Callers have a transaction; the
// functions throw soci_error.
#pragma once

#include <soci/soci.h>

#include <map>
#include <string>

#include "base/result.hpp"
#include "domain/budget/kept_budget.hpp"

namespace tessera {

// corrupt: a row cannot be read; the error names its namespace.
Result<std::map<std::string, KeptBudget>> find_budgets(soci::session& sql);

// As LedgerStore::keep_budgets.
void write_budgets(soci::session& sql, const std::map<std::string, KeptBudget>& budgets);

}  // namespace tessera

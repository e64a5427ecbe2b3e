// The BudgetLedger port over HTTP: GET /ledger/usage (usage_sums_json.hpp), and GET and POST
// /ledger/budgets (kept_budgets_json.hpp).
#pragma once

#include <string>

#include "adapters/metering/ledger_connection.hpp"
#include "ports/ledger/budget_ledger.hpp"

namespace tessera {

// Used by one thread.
class HttpBudgetLedger final : public BudgetLedger {
  public:
    // As LedgerConnection.
    HttpBudgetLedger(HttpEndpoint server, std::string ca_file);

    Result<std::map<std::string, std::vector<UsageSum>>> usage(Window window,
                                                               const std::string& ns) override;
    Result<std::map<std::string, KeptBudget>> budgets() override;
    Result<> keep(const std::map<std::string, KeptBudget>& budgets) override;

  private:
    // The body of the answer 200; any other is unavailable.
    Result<std::string> call(const HttpRequest& request);

    LedgerConnection connection_;
};

}  // namespace tessera

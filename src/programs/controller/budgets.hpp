// The evaluation of GpuBudgets, with all that it needs.
#pragma once

#include <atomic>
#include <memory>

#include "adapters/budget/kube_gpu_budgets.hpp"
#include "adapters/metering/http_budget_ledger.hpp"
#include "adapters/time_zones/tzdb_time_zones.hpp"
#include "app/common/periodic.hpp"
#include "app/scheduler/budget/budget_rounds.hpp"
#include "programs/common/ledger_server.hpp"

namespace tessera {

class Budgets {
  public:
    // All references outlive this. `ca_file`: of the ledger.
    Budgets(HttpEndpoint ledger, std::string ca_file, HttpClient& api, Clock& clock,
            WriteFence fence)
        : objects_(api, clock),
          ledger_(std::move(ledger), std::move(ca_file)),
          rounds_({objects_, ledger_, zones_, clock, std::move(fence), table_}),
          evaluating_(clock, BudgetRounds::kPeriod, [this](const std::stop_token& stop) {
              rounds_.run_round(stop);
              has_evaluated_ = true;
          }) {}

    // Any thread may read it.
    [[nodiscard]] const BudgetTable& table() const { return table_; }
    // Whether there was an evaluation, whatever came out. Before it, all pods would be admitted.
    // Any thread.
    [[nodiscard]] bool has_evaluated() const { return has_evaluated_; }
    // What /readyz answers meanwhile.
    [[nodiscard]] static HttpResponse not_ready() {
        return {.status = 503, .body = "the GpuBudgets were not evaluated yet\n"};
    }
    void start() { evaluating_.start(); }
    // Waits for the evaluation in progress, which writes nothing if another controller leads.
    void stop() { evaluating_.stop(); }

  private:
    KubeGpuBudgets objects_;
    HttpBudgetLedger ledger_;
    const TzdbTimeZones zones_;
    BudgetTable table_;
    BudgetRounds rounds_;
    std::atomic<bool> has_evaluated_ = false;
    Periodic evaluating_;
};

// Null without a ledger.
inline Result<std::unique_ptr<Budgets>> open_budgets(const LedgerServer& server, HttpClient& api,
                                                     Clock& clock, WriteFence fence) {
    if (server.url.empty()) return std::unique_ptr<Budgets>();
    TRY(HttpEndpoint ledger, ledger_endpoint(server, api));
    return std::make_unique<Budgets>(std::move(ledger), server.ca_file, api, clock,
                                     std::move(fence));
}

}  // namespace tessera

// The GpuBudgets port over HTTP.
#pragma once

#include <map>
#include <string>

#include "adapters/http/http.hpp"
#include "ports/clock.hpp"
#include "ports/kube/gpu_budgets.hpp"

namespace tessera {

class KubeGpuBudgets final : public GpuBudgets {
  public:
    // `api`: the API server. Both outlive this.
    KubeGpuBudgets(HttpClient& api, Clock& clock) : http_(api), clock_(clock) {}

    Result<std::vector<BudgetObject>> list() override;
    Result<> report(const BudgetObject& budget, const BudgetReport& report) override;
    Result<> tell(const BudgetEvent& event) override;

  private:
    [[nodiscard]] std::int64_t now_s() const;

    HttpClient& http_;
    Clock& clock_;
    std::map<std::string, std::string> written_;  // the last status, by the budget's uid
};

}  // namespace tessera

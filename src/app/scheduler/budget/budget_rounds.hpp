// Evaluates the GpuBudgets again and again: from their specs, from what the ledger says that
// namespaces used, and from what it keeps of the budgets. Never from a status, which users may be
// able to edit.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "app/scheduler/budget/budget_table.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "ports/clock.hpp"
#include "ports/kube/gpu_budgets.hpp"
#include "ports/ledger/budget_ledger.hpp"
#include "ports/time_zones.hpp"

namespace tessera {

// All of it outlives its user.
struct BudgetTools {
    GpuBudgets& budgets;
    BudgetLedger& ledger;
    const TimeZones& zones;
    Clock& clock;
    WriteFence fence;
    BudgetTable& table;
};

// Every controller evaluates, because each one admits pods. The leader also writes.
class BudgetRounds {
  public:
    static constexpr std::chrono::seconds kPeriod{30};
    // How long a write may take: less than a Lease lasts.
    static constexpr std::chrono::seconds kWriteTakes{5};
    // A ledger that restarts is not worth a change of every status.
    static constexpr int kRoundsUntilUnknown = 3;

    explicit BudgetRounds(BudgetTools tools) : tools_(std::move(tools)) {}

    // One thread. What fails is tried again in the next round. Until then what the last round found
    // counts on.
    void run_round(const std::stop_token& stop);

  private:
    // A budget that can be evaluated.
    struct Item {
        const BudgetObject* object = nullptr;
        BudgetSpec spec;
        ZoneRules zone{};
        std::vector<std::int64_t> times{};  // between which its usage is needed
        // After its evaluation.
        std::optional<BudgetVerdict> verdict{};
        KeptBudget kept{};
        std::vector<int> crossed{};  // thresholds that the leader reports
    };
    struct Round {
        std::vector<BudgetObject> objects;
        std::vector<Item> items;
        std::vector<std::pair<const BudgetObject*, BudgetReport>> faults;
    };

    [[nodiscard]] Result<Item> item_of(const BudgetObject& object) const;
    void sort_out(Round& round) const;
    Result<> evaluate(std::vector<Item>& items);
    void publish(const std::vector<Item>& items);
    Result<> write(const Round& round, const std::stop_token& stop);
    Result<> tell_thresholds(const Item& item);
    [[nodiscard]] BudgetReport report_of(const Item& item) const;
    Result<> write_reports(const Round& round, const std::stop_token& stop);
    void note(const std::string& fault);

    const BudgetTools tools_;
    int failed_rounds_ = 0;  // one after the other
    std::string fault_;      // the last logged one, as long as it lasts
};

}  // namespace tessera

// GpuBudgets and a ledger for their evaluation, in memory.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "domain/budget/roll_up.hpp"
#include "ports/kube/gpu_budgets.hpp"
#include "ports/ledger/budget_ledger.hpp"

namespace tessera {

class FakeGpuBudgets final : public GpuBudgets {
  public:
    std::vector<BudgetObject> objects;
    std::optional<Error> fault;                   // of each call
    std::map<std::string, BudgetReport> reports;  // the last ones, by namespace/name
    std::vector<BudgetEvent> events;

    Result<std::vector<BudgetObject>> list() override {
        if (fault) return fail(*fault);
        return objects;
    }
    Result<> report(const BudgetObject& budget, const BudgetReport& report) override {
        if (fault) return fail(*fault);
        reports.insert_or_assign(budget.ns + "/" + budget.name, report);
        return {};
    }
    Result<> tell(const BudgetEvent& event) override {
        if (fault) return fail(*fault);
        events.push_back(event);
        return {};
    }
};

class FakeBudgetLedger final : public BudgetLedger {
  public:
    std::vector<UsageRecord> records;
    std::optional<Error> fault;        // of each call
    std::optional<Error> write_fault;  // of keep()
    std::map<std::string, KeptBudget> kept;
    int usage_calls = 0;

    Result<std::map<std::string, std::vector<UsageSum>>> usage(Window window,
                                                               const std::string& ns) override {
        ++usage_calls;
        if (fault) return fail(*fault);
        std::map<std::string, std::map<UsageShape, std::int64_t>> seconds;
        visit_distinct(records, [&](const UsageRecord& record) {
            const std::int64_t inside = intersect(record.time, window).seconds();
            if (inside > 0 && (ns.empty() || ns == record.name.ns))
                seconds[record.name.ns][shape_of(record)] += inside;
        });
        std::map<std::string, std::vector<UsageSum>> sums;
        for (const auto& [name, shapes] : seconds) {
            for (const auto& [shape, n] : shapes)
                sums[name].push_back({shape, n});
        }
        return sums;
    }
    Result<std::map<std::string, KeptBudget>> budgets() override {
        if (fault) return fail(*fault);
        return kept;
    }
    Result<> keep(const std::map<std::string, KeptBudget>& budgets) override {
        if (fault) return fail(*fault);
        if (write_fault) return fail(*write_fault);
        for (const auto& [ns, budget] : budgets)
            kept.insert_or_assign(ns, budget);
        return {};
    }
};

}  // namespace tessera

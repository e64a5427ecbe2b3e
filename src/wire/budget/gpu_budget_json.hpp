// GpuBudget (tessera.dev/v1alpha1), whose CustomResourceDefinition is in the chart, and events
// about it.
#pragma once

#include <cstdint>
#include <string>

#include "domain/budget/budget_object.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// The apiVersion.
std::string budget_api();

// Any object, also one that no schema has checked: a field of a wrong type is named by `fault`.
BudgetObject read_gpu_budget(JsonValue object);

// The merge patch of the status. `now_s`: the time of conditions that change, in unix seconds. The
// same report makes the same text as long as nothing changes, whatever the time is. Amounts are cut
// to whole seconds.
std::string write_budget_status(const BudgetObject& budget, const BudgetReport& report,
                                std::int64_t now_s);

std::string write_budget_event(const BudgetEvent& event, std::int64_t now_s);

}  // namespace tessera

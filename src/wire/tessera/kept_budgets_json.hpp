// What the ledger keeps of the namespaces' budgets, and what it says of them:
//
//     {"version":1,"budgets":[{"namespace":"team","uid":"…","reported":80,"lastSeen":1767225600,
//      "period":{"kind":"monthly","timeZone":"Europe/Berlin"},"from":1767222000,"to":1769900400,
//      "gpuTime":"20h","carryOver":"0s","balance":"-1h","closed":[
//       {"from":1764543600,"to":1767222000,"gpuTime":"20h","carryOver":"0s"}]}]}
//
// The fields are those of KeptBudget and BudgetState. Times are unix seconds. A sliding period has
// `seconds` instead of `timeZone`: {"kind":"sliding","seconds":86400}.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/budget/kept_budget.hpp"

namespace tessera {

inline constexpr int kKeptBudgetsVersion = 1;

// Periods become part of the balance after kMostLateSeconds, so a budget keeps about ten at most.
inline constexpr std::size_t kMostClosedPeriods = 400;

// By namespace.
std::string write_kept_budgets(const std::map<std::string, KeptBudget>& budgets);

// What is read is a state that advance() can have returned, so it can be evaluated. The error names
// the field: invalid_argument for broken text or another state, unsupported for a newer version.
Result<std::map<std::string, KeptBudget>> read_kept_budgets(std::string_view text);

// One of them, as a text of its own with a version and without the namespace:
// {"version":1,"uid":"…","reported":80,…}. Errors as above.
std::string write_kept_budget(const KeptBudget& budget);
Result<KeptBudget> read_kept_budget(std::string_view text);

}  // namespace tessera

// What namespaces used in the windows that an evaluation of budgets needs, in few requests.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "domain/budget/charge.hpp"
#include "domain/budget/usage_curve.hpp"
#include "ports/ledger/budget_ledger.hpp"

namespace tessera {

class UsageWindows {
  public:
    // A window that this many namespaces need is read for all of them at once, which takes the
    // ledger as long as some single namespaces.
    static constexpr std::size_t kReadTogether = 8;

    // The usage of the namespace will be needed between these times, in order and each once.
    void need(const std::string& ns, std::span<const std::int64_t> times);
    // Reads all that is needed.
    Result<> read(BudgetLedger& ledger);
    // Charged by the rule, between the same times.
    [[nodiscard]] UsageCurve curve(const std::string& ns, std::span<const std::int64_t> times,
                                   const ChargeRule& rule) const;

  private:
    std::map<Window, std::set<std::string>> needed_;
    std::map<std::pair<Window, std::string>, std::vector<UsageSum>> sums_;
};

}  // namespace tessera

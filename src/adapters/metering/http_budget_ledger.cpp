#include "adapters/metering/http_budget_ledger.hpp"

#include <utility>

#include "wire/tessera/kept_budgets_json.hpp"
#include "wire/tessera/usage_sums_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::seconds kDeadline{10};
// Less than BudgetRounds::kWriteTakes.
constexpr std::chrono::seconds kWriteDeadline{4};
constexpr std::size_t kMostAnswer = std::size_t{64} << 20;
constexpr const char* kBudgets = "/ledger/budgets";

// What the ledger says is not for users of the controller, and a later call may say something else.
template <class T>
Result<T> unavailable_otherwise(Result<T> read) {
    if (read) return read;
    return fail(Code::unavailable, "the ledger's answer: " + read.error().text);
}

}  // namespace

HttpBudgetLedger::HttpBudgetLedger(HttpEndpoint server, std::string ca_file)
    : connection_(std::move(server), std::move(ca_file), kMostAnswer) {}

Result<std::string> HttpBudgetLedger::call(const HttpRequest& request) {
    TRY(HttpClient* const http, connection_.client());
    const bool is_write = request.method == "POST";
    TRY(HttpResponse answer, http->send(request, is_write ? kWriteDeadline : kDeadline));
    if (answer.status != 200) return fail(Code::unavailable, answer_text(answer));
    return std::move(answer.body);
}

Result<std::map<std::string, std::vector<UsageSum>>> HttpBudgetLedger::usage(
    Window window, const std::string& ns) {
    TRY(const std::string body,
        call({.method = "GET",
              .path = "/ledger/usage?" + write_usage_query({.window = window, .ns = ns})}));
    TRY(UsageSums sums, unavailable_otherwise(read_usage_sums(body)));
    if (sums.window != window) return fail(Code::unavailable, "the ledger answers another window");
    return std::move(sums.by_namespace);
}

Result<std::map<std::string, KeptBudget>> HttpBudgetLedger::budgets() {
    TRY(const std::string body, call({.method = "GET", .path = kBudgets}));
    return unavailable_otherwise(read_kept_budgets(body));
}

Result<> HttpBudgetLedger::keep(const std::map<std::string, KeptBudget>& budgets) {
    TRY_VOID(call({.method = "POST",
                   .path = kBudgets,
                   .body = write_kept_budgets(budgets),
                   .content_type = "application/json"}));
    return {};
}

}  // namespace tessera

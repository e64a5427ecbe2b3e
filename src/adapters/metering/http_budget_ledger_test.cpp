#include "adapters/metering/http_budget_ledger.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "testing/builders/usage_records.hpp"
#include "wire/tessera/kept_budgets_json.hpp"
#include "wire/tessera/usage_sums_json.hpp"

namespace tessera {
namespace {

class HttpBudgetLedgerTest : public testing::Test {
  protected:
    HttpResponse answer_{.status = 200, .body = ""};
    HttpRequest last_;
    HttpServer server_{{.address = "127.0.0.1"}, [this](HttpRequest& request) {
                           last_ = request;
                           return answer_;
                       }};
    const int port_ = server_.listen().value();
    const std::jthread serving_{[this](const std::stop_token& stop) { server_.serve(stop); }};
    HttpBudgetLedger ledger_{{.host = "127.0.0.1", .port = port_, .tls = false}, ""};
};

// Goal: usage is that of the window that was requested, and of no other.
TEST_F(HttpBudgetLedgerTest, ReadsUsage) {
    const UsageSum sum{shape_of(build::usage("a", {0, 60})), 60};
    answer_.body = write_usage_sums({.window = {1, 2}, .by_namespace = {{"team", {sum}}}});
    const auto found = ledger_.usage({1, 2}, "team");
    ASSERT_TRUE(found) << found.error().text;
    EXPECT_EQ(found->at("team"), std::vector{sum});
    EXPECT_EQ(last_.path + "?" + last_.query, "/ledger/usage?from=1&to=2&namespace=team");
    EXPECT_EQ(ledger_.usage({1, 3}, "team").error().code, Code::unavailable);
    EXPECT_TRUE(ledger_.usage({1, 2}, ""));
    EXPECT_EQ(last_.query, "from=1&to=2");
}

TEST_F(HttpBudgetLedgerTest, KeepsBudgets) {
    const std::map<std::string, KeptBudget> kept = {
        {"team", {.uid = "u", .state = {.last_seen_s = 5, .current = {0, 60}}, .reported = 80}}};
    answer_.body = write_kept_budgets(kept);
    EXPECT_EQ(ledger_.budgets().value(), kept);
    EXPECT_TRUE(ledger_.keep(kept));
    EXPECT_EQ(last_.method + " " + last_.path, "POST /ledger/budgets");
    EXPECT_EQ(read_kept_budgets(last_.body).value(), kept);
}

// Goal: whatever is wrong with the ledger, the call can be made again later.
TEST_F(HttpBudgetLedgerTest, EveryFaultIsForNow) {
    for (const int status : {200, 400, 403, 404, 500, 503}) {
        answer_ = {.status = status, .body = "rubbish"};
        EXPECT_EQ(ledger_.usage({1, 2}, "").error().code, Code::unavailable) << status;
        EXPECT_EQ(ledger_.budgets().error().code, Code::unavailable) << status;
    }
    EXPECT_EQ(ledger_.keep({}).error().text, "the ledger answers 503: rubbish");
}

}  // namespace
}  // namespace tessera

#include "adapters/metering/http_ledger_client.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "adapters/metering/node_meter_clock.hpp"
#include "testing/builders/usage_records.hpp"
#include "wire/tessera/usage_records_json.hpp"

namespace tessera {
namespace {

UsageRecord record() {
    return build::usage("u1", {60, 120});
}

TEST(HttpLedgerClient, SendsRecordsAndReadsTheAnswer) {
    HttpResponse answer{.status = 200, .body = "{\"version\":1,\"added\":1,\"copies\":0}"};
    HttpRequest last;
    HttpServer server({.address = "127.0.0.1"}, [&](HttpRequest& request) {
        last = request;
        return answer;
    });
    const int port = server.listen().value();
    const std::jthread serving([&](const std::stop_token& stop) { server.serve(stop); });
    HttpLedgerClient client({.host = "127.0.0.1", .port = port, .tls = false}, "");
    ASSERT_TRUE(client.send({{record()}}, {}));
    EXPECT_EQ(last.method + " " + last.path, "POST /ledger/records");
    EXPECT_EQ(read_usage_records(last.body).value(), std::vector{record()});
    answer = {.status = 422, .body = "records[0].gpu: missing\n"};
    const auto refused = client.send({{record()}}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_EQ(refused.error().text, "the ledger answers 422: records[0].gpu: missing\n");
    // None of these is a fault of the records.
    for (const int status : {400, 401, 403, 404, 413, 500, 503}) {
        answer = {.status = status, .body = "later"};
        const auto later = client.send({{record()}}, {});
        ASSERT_FALSE(later) << status;
        EXPECT_EQ(later.error().code, Code::unavailable) << status;
    }
}

// Goal: a server that answers 200 to everything does not make the agent remove its records.
TEST(HttpLedgerClient, KnowsALedgerByItsAnswer) {
    for (const char* body : {"", "ok", "{}", "{\"added\":1}", "[1]"}) {
        HttpServer server({.address = "127.0.0.1"},
                          [&](HttpRequest&) { return HttpResponse{.status = 200, .body = body}; });
        const int port = server.listen().value();
        const std::jthread serving([&](const std::stop_token& stop) { server.serve(stop); });
        HttpLedgerClient client({.host = "127.0.0.1", .port = port, .tls = false}, "");
        const auto sent = client.send({{record()}}, {});
        ASSERT_FALSE(sent) << body;
        EXPECT_EQ(sent.error().code, Code::unavailable);
    }
}

// Goal: nothing is sent to a server for which no authority vouches.
TEST(HttpLedgerClient, WaitsForTheAuthorities) {
    HttpLedgerClient client({.host = "127.0.0.1", .port = 1}, "/nonexistent/ca.crt");
    const auto sent = client.send({{record()}}, {});
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, Code::unavailable);
    EXPECT_NE(sent.error().text.find("/nonexistent/ca.crt"), std::string::npos);
    HttpLedgerClient empty({.host = "127.0.0.1", .port = 1}, "/dev/null");
    EXPECT_EQ(empty.send({{record()}}, {}).error().text,
              "/dev/null: is empty; the ledger fills it when it starts");
}

TEST(NodeMeterClock, HasTheClocksOfTheMachine) {
    const auto clock = NodeMeterClock::open();
    ASSERT_TRUE(clock) << clock.error().text;
    const MeterTime first = clock->now();
    const MeterTime second = clock->now();
    EXPECT_EQ(first.boot.size(), 36U);
    EXPECT_EQ(second.boot, first.boot);
    EXPECT_GE(second.running_ns, first.running_ns);
    EXPECT_GT(first.running_ns, 0);
    EXPECT_GT(first.unix_ns, 1'700'000'000'000'000'000);
}

}  // namespace
}  // namespace tessera

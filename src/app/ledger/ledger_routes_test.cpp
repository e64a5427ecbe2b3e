#include "app/ledger/ledger_routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.hpp"
#include "testing/fakes/fake_access_review.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_ledger_store.hpp"
#include "wire/tessera/kept_budgets_json.hpp"
#include "wire/tessera/usage_records_json.hpp"
#include "wire/tessera/usage_sums_json.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;

UsageRecord record(std::int64_t interval, const std::string& ns = "lab") {
    return {.pod = PodUid("u-" + ns),
            .container = "main",
            .gpu = GpuUuid("GPU-a"),
            .time = {interval * kIntervalSeconds, (interval + 1) * kIntervalSeconds},
            .name = {ns, "train"},
            .model = "A100",
            .memory = gibibytes(20),
            .capacity = gibibytes(80)};
}

class LedgerRoutesTest : public testing::Test {
  protected:
    LedgerRoutesTest() { upkeep_.check(); }
    RouteAnswer post(const std::string& body) {
        return routes_.answer({"POST", "/ledger/records", "", body});
    }
    RouteAnswer post(const std::vector<UsageRecord>& records) {
        return post(write_usage_records(records));
    }
    RouteAnswer get(std::string_view path, std::string_view query = "") {
        return routes_.answer({"GET", path, query, ""});
    }
    UsageSums usage(std::string_view query) {
        const RouteAnswer answer = get("/ledger/usage", query);
        EXPECT_EQ(answer.status, 200) << answer.body;
        return read_usage_sums(answer.body).value();
    }

    FakeLedgerStore store_;
    FakeClock clock_;
    FakeAccessReview review_;
    TokenReviews tokens_{review_, clock_};
    LedgerMetrics metrics_;
    StoreFaults faults_{metrics_};
    LedgerUpkeep upkeep_{{store_, faults_, metrics_, clock_}, 0};
    LedgerRoutes routes_{{store_, faults_, metrics_, upkeep_, tokens_, clock_}};
};

// Goal: a record that is sent again counts once, and the sums are those of the records.
TEST_F(LedgerRoutesTest, AddsAndSums) {
    EXPECT_EQ(post({record(1), record(2)}).body, "{\"version\":1,\"added\":2,\"copies\":0}\n");
    EXPECT_EQ(post({record(2), record(3, "team")}).body,
              "{\"version\":1,\"added\":1,\"copies\":1}\n");
    EXPECT_EQ(post(std::vector<UsageRecord>{}).status, 200);
    const UsageSum minute{shape_of(record(1)), 60};
    const UsageSum both{shape_of(record(1)), 120};
    EXPECT_EQ(usage("from=0&to=600").by_namespace,
              (std::map<std::string, std::vector<UsageSum>>{{"lab", {both}}, {"team", {minute}}}));
    EXPECT_EQ(usage("from=120&to=600&namespace=lab").by_namespace,
              (std::map<std::string, std::vector<UsageSum>>{{"lab", {minute}}}));
    EXPECT_EQ(usage("from=0&to=60").by_namespace.size(), 0U);
    const std::string text = get("/metrics").body;
    EXPECT_THAT(text, HasSubstr("tessera_ledger_records_added_total 3\n"));
    EXPECT_THAT(text, HasSubstr("tessera_ledger_records_copied_total 1\n"));
    EXPECT_THAT(text, HasSubstr("tessera_ledger_newest_record_timestamp_seconds 240\n"));
}

// Goal: of a body with one invalid record nothing is stored, and the answer says what is wrong. An
// agent that is newer than the ledger tries again: it must not drop its records.
TEST_F(LedgerRoutesTest, RefusesBodies) {
    UsageRecord too_long = record(2);
    too_long.time.to_s += 3'600;
    const RouteAnswer invalid = post({record(1), too_long});
    EXPECT_EQ(invalid.status, 422);
    EXPECT_THAT(invalid.body, HasSubstr("records[1]: usage record: time is of several hours"));
    EXPECT_EQ(post("").status, 422);
    EXPECT_EQ(post("{").status, 422);
    const RouteAnswer newer = post(R"({"version":2,"records":[]})");
    EXPECT_EQ(newer.status, 501);
    EXPECT_EQ(newer.body, "version: 2 is of a newer release\n");
    EXPECT_EQ(usage("from=0&to=600").by_namespace.size(), 0U);
    const std::string text = get("/metrics").body;
    EXPECT_THAT(text, HasSubstr("requests_refused_total{reason=\"invalid\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("requests_refused_total{reason=\"newer_version\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("store_errors_total{operation=\"add\"} 0\n"));
}

TEST_F(LedgerRoutesTest, RefusesQueries) {
    const RouteAnswer answer = get("/ledger/usage", "from=1");
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(answer.body, "to: missing; write unix seconds\n");
}

// Goal: whatever is wrong with the store, the caller keeps its records and tries again. A fault is
// logged when it begins and when it is over.
TEST_F(LedgerRoutesTest, StoreFails) {
    const std::uint64_t errors = event_count(Event::ledger_error);
    const std::uint64_t recovered = event_count(Event::ledger_recovered);
    store_.fault = Error{Code::unavailable, "the disk of /data is full"};
    for (int i = 0; i < 3; ++i) {
        const RouteAnswer answer = post({record(1)});
        EXPECT_EQ(answer.status, 503);
        EXPECT_EQ(answer.body, "the disk of /data is full\n");
        EXPECT_GT(answer.retry_after_s, 0);
    }
    EXPECT_EQ(get("/ledger/usage", "from=0&to=60&namespace=lab").status, 503);
    EXPECT_EQ(event_count(Event::ledger_error), errors + 2);
    store_.fault = Error{Code::permission_denied, "the file is read-only"};
    EXPECT_EQ(post({record(1)}).status, 503);
    store_.fault = Error{Code::corrupt, "a page is damaged"};
    EXPECT_EQ(post({record(1)}).status, 500);
    EXPECT_EQ(event_count(Event::ledger_error), errors + 4);
    store_.fault = Error{Code::invalid_argument, "container: too long"};
    EXPECT_EQ(post({record(1)}).status, 422);
    store_.fault.reset();
    EXPECT_EQ(post({record(1)}).status, 200);
    EXPECT_EQ(event_count(Event::ledger_recovered), recovered + 1);
    EXPECT_THAT(get("/metrics").body, HasSubstr("store_errors_total{operation=\"add\"} 5\n"));
}

// Goal: /readyz follows the check, and /healthz does not: a restart repairs no database.
TEST_F(LedgerRoutesTest, Health) {
    EXPECT_EQ(LedgerUpkeep({store_, faults_, metrics_, clock_}, 0).not_ready(),
              "the database was not asked yet");
    EXPECT_EQ(get("/readyz").status, 200);
    EXPECT_THAT(get("/metrics").body, HasSubstr("tessera_ledger_ready 1\n"));
    store_.fault = Error{Code::unavailable, "no answer"};
    EXPECT_EQ(get("/readyz").status, 200);
    upkeep_.check();
    EXPECT_EQ(get("/readyz").status, 503);
    EXPECT_EQ(get("/readyz").body, "no answer\n");
    EXPECT_EQ(get("/healthz").status, 200);
    EXPECT_THAT(get("/metrics").body, HasSubstr("tessera_ledger_ready 0\n"));
}

// Goal: while the last check failed, no request waits for the database.
TEST_F(LedgerRoutesTest, RefusesWhileTheDatabaseIsAway) {
    store_.fault = Error{Code::unavailable, "no answer"};
    upkeep_.check();
    const RouteAnswer answer = post({record(1)});
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.body, "no answer\n");
    EXPECT_GT(answer.retry_after_s, 0);
    EXPECT_EQ(get("/ledger/usage", "from=0&to=60").status, 503);
    EXPECT_THAT(get("/metrics").body, HasSubstr("store_errors_total{operation=\"add\"} 0\n"));
    store_.fault.reset();
    upkeep_.check();
    EXPECT_EQ(post({record(1)}).status, 200);
}

// Goal: what is kept of budgets is read back. A controller whose clock is ahead changes nothing.
TEST_F(LedgerRoutesTest, KeepsBudgets) {
    const std::int64_t now_s = clock_.unix_ns() / kNanosPerSecond;
    const auto post_at = [&](std::int64_t seen_s) {
        KeptBudget budget{.uid = "u", .state = {}, .reported = 80};
        budget.state.last_seen_s = seen_s;
        budget.state.current = {0, kEndOfTime};
        return routes_.answer(
            {"POST", "/ledger/budgets", "", write_kept_budgets({{"team", budget}})});
    };
    EXPECT_EQ(post_at(now_s).status, 200);
    const std::string kept = get("/ledger/budgets").body;
    EXPECT_EQ(read_kept_budgets(kept).value().at("team").state.last_seen_s, now_s);
    const RouteAnswer ahead = post_at(now_s + 3'600);
    EXPECT_EQ(ahead.status, 422);
    EXPECT_THAT(ahead.body, HasSubstr("the budget of team was evaluated in the future"));
    EXPECT_EQ(get("/ledger/budgets").body, kept);
    EXPECT_EQ(routes_.answer({"POST", "/ledger/budgets", "", "{"}).status, 400);
    store_.fault = Error{Code::unavailable, "no answer"};
    EXPECT_EQ(post_at(now_s).status, 503);
    EXPECT_EQ(get("/ledger/budgets").status, 503);
}

// Goal: the right to read is none to write, and the reverse. A request for anything else is refused
// before its body is read.
TEST_F(LedgerRoutesTest, Access) {
    review_.tokens["agent"] = {{"post /ledger/records", Verdict::granted}};
    review_.tokens["reader"] = {{"/ledger/usage", Verdict::granted},
                                {"/metrics", Verdict::granted}};
    const auto status = [&](const char* method, const char* path, const char* token) {
        const auto refused = routes_.refuse({method, path, false, token});
        return refused ? refused->status : 0;
    };
    struct Case {
        const char* method;
        const char* path;
        int agent;
        int reader;
        int none;
    };
    for (const Case& c :
         {Case{"POST", "/ledger/records", 0, 403, 401}, Case{"GET", "/ledger/usage", 403, 0, 401},
          Case{"GET", "/metrics", 403, 0, 401}, Case{"GET", "/healthz", 0, 0, 0},
          Case{"GET", "/readyz", 0, 0, 0}, Case{"GET", "/ledger/records", 405, 405, 405},
          Case{"HEAD", "/metrics", 405, 405, 405}, Case{"POST", "/ledger/usage", 405, 405, 405},
          Case{"POST", "/ledger/records/", 404, 404, 404}, Case{"GET", "/", 404, 404, 404}}) {
        EXPECT_EQ(status(c.method, c.path, "agent"), c.agent) << c.path;
        EXPECT_EQ(status(c.method, c.path, "reader"), c.reader) << c.path;
        EXPECT_EQ(status(c.method, c.path, ""), c.none) << c.path;
    }
    EXPECT_EQ(routes_.refuse({"GET", "/ledger/records", false, ""})->allow, "POST");
}

}  // namespace
}  // namespace tessera

// The ledger as a process, with a scripted API server and a file of SQLite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <optional>

#include "adapters/http/raw_peer_test.hpp"
#include "adapters/kube/scripted_server_test.hpp"
#include "programs/common/started_program_test.hpp"
#include "testing/builders/usage_records.hpp"
#include "wire/tessera/usage_records_json.hpp"
#include "wire/tessera/usage_sums_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

class BearerToken final : public HttpCredentialSource {
  public:
    Result<HttpCredentials> get() override {
        return HttpCredentials{.authorization = "Bearer token"};
    }
};

class LedgerProgram : public testing::Test {
  protected:
    static constexpr const char* kSecrets = "/api/v1/namespaces/tessera/secrets";
    static constexpr const char* kConfigMap =
        "/api/v1/namespaces/tessera/configmaps/tessera-ledger-ca";

    LedgerProgram() {
        api_.answer(std::string("GET ") + kSecrets + "/tessera-ledger-ca", 404,
                    R"({"message":"not found"})");
        api_.answer(std::string("POST ") + kSecrets, 201, "{}");
        api_.answer(std::string("GET ") + kConfigMap, 200,
                    R"({"metadata":{"resourceVersion":"7"}})");
        api_.answer(std::string("PATCH ") + kConfigMap, 200, "{}");
        api_.answer("POST /apis/authentication.k8s.io/v1/tokenreviews", 201,
                    R"({"status":{"authenticated":true,"user":{"username":"agent"}}})");
        api_.answer("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", 201,
                    R"({"status":{"allowed":true}})");
        std::ofstream(folder_.file("kubeconfig"))
            << "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], users: "
               "[{name: u, user: {token: t}}], clusters: [{name: c, cluster: {server: "
               "\"http://127.0.0.1:"
            << api_.endpoint().port << "\"}}]}";
    }

    void start() {
        ledger_.reset();
        ledger_.emplace("tessera-ledger", arguments(), folder_.file("log"));
        while (status("/readyz") != 200)
            pause();
    }
    static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
    [[nodiscard]] std::vector<std::string> arguments() const {
        return {"--kubeconfig=" + folder_.file("kubeconfig"), "--database=" + file_,
                "--service=tessera/tessera-ledger", "--port=" + std::to_string(port_),
                "--health-port=" + std::to_string(health_port_)};
    }
    // 0: no answer.
    [[nodiscard]] int status(const std::string& path) const {
        const auto answer = HttpClient({.host = "127.0.0.1", .port = health_port_, .tls = false})
                                .send({"GET", path, "", ""}, seconds(60));
        return answer ? answer->status : 0;
    }
    // The authority that the ledger published the last time.
    std::string authority() {
        std::string found;
        for (const HttpRequest& request : api_.requests()) {
            if (request.method != "PATCH" || request.path != kConfigMap) continue;
            const auto config_map = JsonDocument::parse(request.body).value();
            found = config_map.root()["data"]["ca.crt"].text_or("");
        }
        return found;
    }
    HttpResponse send(const HttpRequest& request, bool has_token = true) {
        HttpEndpoint server{.host = "127.0.0.1", .port = port_};
        server.tls_server_name = "tessera-ledger.tessera.svc";
        server.ca_pem = authority();
        if (has_token) server.credentials = std::make_shared<BearerToken>();
        return HttpClient(server).send(request, seconds(60)).value();
    }
    std::string post(const std::vector<UsageRecord>& records) {
        return send({"POST", "/ledger/records", write_usage_records(records), "application/json"})
            .body;
    }
    std::int64_t seconds_of(const std::string& ns) {
        const UsageQuery query{.window = {0, kEndOfTime}, .ns = ns};
        const auto answer = send({"GET", "/ledger/usage?" + write_usage_query(query), "", ""}).body;
        std::int64_t sum = 0;
        for (const UsageSum& each : read_usage_sums(answer).value().by_namespace[ns])
            sum += each.seconds;
        return sum;
    }

    const Folder folder_;
    ScriptedServer api_;
    const std::string file_ = folder_.file("ledger.db");
    const int port_ = RawListener().port();
    const int health_port_ = RawListener().port();
    std::optional<Program> ledger_;
};

// Goal: what the ledger has confirmed survives kill -9, and what is sent again counts once.
TEST_F(LedgerProgram, LosesNothing) {
    start();
    const auto records = build::usages(build::usage("pod", {0, 600}));
    EXPECT_EQ(post(records), "{\"version\":1,\"added\":10,\"copies\":0}\n");
    EXPECT_EQ(seconds_of("team"), 600);
    ASSERT_EQ(::kill(ledger_->pid(), SIGKILL), 0);
    EXPECT_EQ(ledger_->wait(), -1);
    start();
    EXPECT_EQ(seconds_of("team"), 600);
    EXPECT_EQ(post(records), "{\"version\":1,\"added\":0,\"copies\":10}\n");
    EXPECT_EQ(seconds_of("team"), 600);
    EXPECT_EQ(send({"GET", "/ledger/usage?from=0&to=1", "", ""}, false).status, 401);
    EXPECT_EQ(send({"POST", "/ledger/records", "{}", "application/json"}).status, 422);
    const std::string metrics = send({"GET", "/metrics", "", ""}).body;
    EXPECT_THAT(metrics, HasSubstr("tessera_ledger_records_copied_total 10\n"));
    EXPECT_THAT(metrics, HasSubstr("program=\"tessera-ledger\""));
    ledger_->terminate();
    EXPECT_EQ(ledger_->wait(), 0) << ledger_->output();
}

// Goal: a file that is no ledger ends the program with the reason, and is not changed.
TEST_F(LedgerProgram, LeavesForeignFilesAlone) {
    const std::string text(8'192, 'x');
    std::ofstream(file_) << text;
    Program refused("tessera-ledger", arguments(), folder_.file("log"));
    EXPECT_GT(refused.wait(), 0);
    EXPECT_THAT(refused.output(), HasSubstr("\"reason\":\"database: "));
    EXPECT_THAT(refused.output(), HasSubstr(file_));
    std::ifstream in(file_);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
}

// Goal: while PostgreSQL is away the ledger waits for it, is not ready, and ends on SIGTERM. The
// password in the URL is not logged.
TEST_F(LedgerProgram, WaitsForPostgresql) {
    const int closed = RawListener().port();
    std::ofstream(folder_.file("url"))
        << "postgresql://ledger:secret@127.0.0.1:" << closed << "/ledger\n";
    auto flags = arguments();
    flags[1] = "--database-url-file=" + folder_.file("url");
    Program waits("tessera-ledger", flags, folder_.file("log"));
    while (waits.output().find("ledger_error") == std::string::npos)
        pause();
    EXPECT_EQ(status("/healthz"), 200);
    EXPECT_EQ(status("/readyz"), 503);
    EXPECT_THAT(waits.output(), HasSubstr("\"operation\":\"open\""));
    EXPECT_EQ(waits.output().find("secret"), std::string::npos) << waits.output();
    waits.terminate();
    EXPECT_EQ(waits.wait(), 0) << waits.output();
}

// Goal: a configuration that cannot work is refused before the start.
TEST_F(LedgerProgram, ChecksItsConfiguration) {
    const auto check = [&](std::size_t replaced, const std::string& flag) {
        auto flags = arguments();
        flags.at(replaced) = flag;
        flags.emplace_back("--check-config");
        Program run("tessera-ledger", flags, folder_.file("log"));
        const int status = run.wait();
        return std::to_string(status) + " " + run.output();
    };
    EXPECT_THAT(check(1, "--database=/data/ledger.db"), StartsWith("0 "));
    EXPECT_THAT(check(1, "--retention-days=400"), HasSubstr("set either database or database_url"));
    EXPECT_THAT(check(1, "--database=ledger.db"), HasSubstr("database: is neither an absolute"));
    EXPECT_THAT(check(2, "--retention-days=400"), HasSubstr("service: missing"));
    EXPECT_THAT(check(2, "--service=ledger"), HasSubstr("is not NAMESPACE/NAME"));
    EXPECT_THAT(check(0, "--retention-days=39"), HasSubstr("write 0, or 40 or more"));
    EXPECT_THAT(check(4, "--health-port=" + std::to_string(port_)),
                HasSubstr("is also the value of port"));
}

}  // namespace
}  // namespace tessera

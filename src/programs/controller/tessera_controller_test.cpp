// The controller as a process: behaviour that only the whole program shows.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "adapters/http/http.hpp"
#include "adapters/http/raw_peer_test.hpp"
#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

using std::chrono::seconds;

int free_port() {
    return RawListener().port();
}

// The controller with an API server that accepts connections and never answers.
class ControllerProgram : public ::testing::Test {
  protected:
    std::unique_ptr<Program> start(const std::vector<std::string>& more = {}) {
        std::ofstream(folder_.file("kubeconfig"))
            << "{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], users: "
               "[{name: u, user: {token: t}}], clusters: [{name: c, cluster: {server: "
               "\"http://127.0.0.1:"
            << api_.port() << "\"}}]}";
        std::vector<std::string> arguments{"--kubeconfig=" + folder_.file("kubeconfig"),
                                           "--port=" + std::to_string(port_), "--http-threads=2",
                                           "--health-port=" + std::to_string(health_port_)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return std::make_unique<Program>("tessera-controller", arguments, folder_.file("log"));
    }
    static std::string get(int port, const std::string& path,
                           const std::string& host = "127.0.0.1") {
        const auto answer = HttpClient({.host = host, .port = port, .tls = false})
                                .send({"GET", path, "", ""}, seconds(5));
        return answer ? std::to_string(answer->status) + " " + answer->body : answer.error().text;
    }
    [[nodiscard]] bool is_up(const std::string& host = "127.0.0.1") const {
        for (int i = 0; i < 1'000; ++i) {
            if (get(health_port_, "/healthz", host) == "200 ok\n") return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }

    const RawListener api_;
    const Folder folder_;
    const int port_ = free_port();
    const int health_port_ = free_port();
};

// Goal: SIGTERM ends the controller at once, with clients connected and API requests unanswered.
TEST_F(ControllerProgram, EndsOnSigterm) {
    const auto controller = start();
    ASSERT_TRUE(is_up()) << controller->output();
    std::vector<RawPeer> idle;
    for (int i = 0; i < 20; ++i) {
        idle.push_back(RawPeer::connect(port_));
        idle.back().send("GET /healthz HTTP/1.1\r\n\r\n");
        EXPECT_TRUE(idle.back().read_until("ok\n").ends_with("ok\n"));
    }
    controller->terminate();
    EXPECT_EQ(controller->wait(), 0) << controller->output();
}

// Goal: health answers while every thread of the main port is busy, and nothing else is served
// there.
TEST_F(ControllerProgram, HealthHasItsOwnPort) {
    const auto controller = start();
    ASSERT_TRUE(is_up()) << controller->output();
    EXPECT_EQ(get(port_, "/healthz"), "200 ok\n") << "it is on the main port, too";
    std::vector<RawPeer> busy;
    for (int i = 0; i < 4; ++i) {
        busy.push_back(RawPeer::connect(port_));
        busy.back().send("POST /gpushare-scheduler/bind HTTP/1.1\r\nContent-Length: 9\r\n\r\n{");
    }
    EXPECT_EQ(get(health_port_, "/healthz"), "200 ok\n");
    EXPECT_TRUE(get(health_port_, "/readyz").starts_with("503 "));
    EXPECT_TRUE(get(health_port_, "/metrics").starts_with("404 "));
}

// Goal: a port that is taken ends the program, and the error names the port's row.
TEST_F(ControllerProgram, HealthPortIsTaken) {
    const auto first = start();
    ASSERT_TRUE(is_up()) << first->output();
    Program second(
        "tessera-controller",
        {"--kubeconfig=" + folder_.file("kubeconfig"), "--port=" + std::to_string(free_port()),
         "--health-port=" + std::to_string(health_port_)},
        folder_.file("log2"));
    EXPECT_GT(second.wait(), 0);
    EXPECT_NE(second.output().find("health_port: cannot listen on"), std::string::npos)
        << second.output();
}

// Goal: listening for other machines without TLS is refused before the start; a flag needs no
// value.
TEST(CheckConfig, OpenDoor) {
    const Folder folder;
    const auto check = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "--check-config");
        Program run("tessera-controller", arguments, folder.file("output"));
        const int status = run.wait();
        return std::to_string(status) + " " + run.output();
    };
    const std::string refused = check({"--listen=0.0.0.0"});
    EXPECT_TRUE(refused.starts_with("78 ")) << refused;
    EXPECT_NE(refused.find("client_ca_file, or plain_http"), std::string::npos) << refused;
    EXPECT_TRUE(check({"--listen=0.0.0.0", "--plain-http"}).starts_with("0 "));
    EXPECT_TRUE(check({"--plain-http", "--listen=0.0.0.0"}).starts_with("0 "));
    EXPECT_TRUE(check({"--listen=0.0.0.0", "--plain-http=true"}).starts_with("0 "));
    EXPECT_TRUE(check({"--listen=0.0.0.0", "--plain-http=false"}).starts_with("78 "));
    EXPECT_TRUE(check({"--listen=0.0.0.0", "--plain-http=perhaps"}).starts_with("78 "));
    const std::string no_file = check({"--kubeconfig=/none/config"});
    EXPECT_TRUE(no_file.starts_with("78 ")) << no_file;
    EXPECT_NE(no_file.find("/none/config"), std::string::npos) << no_file;
    EXPECT_TRUE(check({"--dialects=native"}).starts_with("0 "));
    const std::string unknown = check({"--dialects=native,klingon"});
    EXPECT_TRUE(unknown.starts_with("78 ")) << unknown;
    EXPECT_NE(unknown.find("is unknown; write one or more of: native, gpushare, gpu-manager"),
              std::string::npos)
        << unknown;
}

// Goal: it runs on an IPv6-only cluster. The chart passes the pod's address, which is IPv6 there.
TEST_F(ControllerProgram, ListensOnIpv6Alone) {
    const auto controller =
        start({"--listen=::1", "--health-listen=::1", "--service-listen=::1", "--open-reads"});
    EXPECT_TRUE(is_up("::1")) << controller->output();
    EXPECT_TRUE(get(port_, "/metrics", "::1").starts_with("200 "));
    EXPECT_FALSE(get(port_, "/metrics").starts_with("200 ")) << "only the given address";
}

// Goal: metrics and inspect need a token unless open_reads is set; health never does.
TEST_F(ControllerProgram, ReadsNeedAToken) {
    {
        const auto controller = start();
        ASSERT_TRUE(is_up()) << controller->output();
        EXPECT_TRUE(get(port_, "/metrics").starts_with("401 "));
        EXPECT_TRUE(get(port_, "/gpushare-scheduler/inspect").starts_with("401 "));
        EXPECT_EQ(get(port_, "/version"), "200 0.1.0");
    }
    const auto controller = start({"--open-reads"});
    ASSERT_TRUE(is_up()) << controller->output();
    EXPECT_TRUE(get(port_, "/metrics").starts_with("200 "));
    EXPECT_TRUE(get(port_, "/gpushare-scheduler/inspect").starts_with("200 "));
}

}  // namespace
}  // namespace tessera

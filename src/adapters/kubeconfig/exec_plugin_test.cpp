#include "adapters/kubeconfig/exec_plugin.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "adapters/http/raw_peer_test.hpp"
#include "adapters/http/tls_server_test.hpp"
#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

// A folder with a plugin, which prints the file `status` in an ExecCredential and counts its runs.
class ExecPluginTest : public testing::Test {
  protected:
    ExecPluginTest() {
        std::filesystem::create_directories(folder_);
        write("plugin", R"(#!/bin/sh
cd "${0%/*}"
echo "$*|$FROM_CONFIG|$KUBERNETES_EXEC_INFO" >> runs
[ -e status ] || exit 7
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":'
cat status
echo '}'
)");
        std::filesystem::permissions(folder_ / "plugin", std::filesystem::perms::owner_all);
    }
    ~ExecPluginTest() override { std::filesystem::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }
    [[nodiscard]] std::vector<std::string> runs() const {
        std::vector<std::string> out;
        std::ifstream in(folder_ / "runs");
        for (std::string line; std::getline(in, line);)
            out.push_back(line);
        return out;
    }
    [[nodiscard]] Result<std::shared_ptr<HttpCredentialSource>> make(
        const std::string& exec, const std::string& cluster = "{server: 'https://a'}") const {
        return exec_plugin(YAML::Load(exec), YAML::Load(cluster), folder_.string());
    }
    [[nodiscard]] std::shared_ptr<HttpCredentialSource> plugin() const { return *make(kExec); }

    static constexpr const char* kExec =
        "{apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Never}";
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tessera-exec-" + std::to_string(getpid()));
};

// Goal: the program gets its arguments and environment, and the cluster if it wants to know it. It
// does not run before it is needed.
TEST_F(ExecPluginTest, RunsAsTheKubeconfigSays) {
    write("status", R"({"token":"t"})");
    const auto source = make(
        "{apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: Never, "
        "args: [get-token, --cluster, 7], env: [{name: FROM_CONFIG, value: 'a b'}], "
        "provideClusterInfo: true}",
        "{server: 'https://a', certificate-authority-data: Q0E=, extensions: [{name: "
        "client.authentication.k8s.io/exec, extension: {audience: '7', n: 7, on: true, l: [x]}}]}");
    ASSERT_TRUE(source) << source.error().text;
    EXPECT_TRUE(runs().empty());
    EXPECT_EQ((*source)->get()->authorization, "Bearer t");
    EXPECT_EQ(runs(),
              std::vector<std::string>{
                  R"(get-token --cluster 7|a b|{"apiVersion":"client.authentication.k8s.io/v1",)"
                  R"("kind":"ExecCredential","spec":{"interactive":false,"cluster":{)"
                  R"("server":"https://a","certificate-authority-data":"Q0E=",)"
                  R"("config":{"audience":"7","n":7,"on":true,"l":["x"]}}}})"});
}

// Goal: credentials are kept until they expire, or until the server refuses them.
TEST_F(ExecPluginTest, RunsAgainWhenItMust) {
    const auto source = plugin();
    write("status", R"({"token":"old","expirationTimestamp":"2026-01-01T00:00:00Z"})");
    EXPECT_EQ(source->get()->authorization, "Bearer old");
    write("status", R"({"token":"good","expirationTimestamp":"2999-01-01T00:00:00Z"})");
    EXPECT_EQ(source->get()->authorization, "Bearer good") << "the old one had expired";
    write("status", R"({"token":"next"})");
    EXPECT_EQ(source->get()->authorization, "Bearer good");
    source->refused({.authorization = "Bearer old"});
    EXPECT_EQ(source->get()->authorization, "Bearer good") << "another one was refused";
    source->refused({.authorization = "Bearer good"});
    EXPECT_EQ(source->get()->authorization, "Bearer next");
    EXPECT_EQ(source->get()->authorization, "Bearer next") << "it does not expire";
    EXPECT_EQ(runs().size(), 3U);
}

TEST_F(ExecPluginTest, GivesCertificates) {
    const Identity authority = Identity::make("authority", nullptr, "");
    const Identity client = Identity::make("client", &authority, "DNS:client");
    const auto json = [](std::string pem) {
        for (std::size_t at = 0; (at = pem.find('\n', at)) != std::string::npos; at += 2)
            pem.replace(at, 1, "\\n");
        return pem;
    };
    write("status", R"({"clientCertificateData":")" + json(client.certificate_pem()) +
                        R"(","clientKeyData":")" + json(client.key_pem()) + "\"}");
    const auto credentials = plugin()->get();
    ASSERT_TRUE(credentials) << credentials.error().text;
    EXPECT_EQ(credentials->client_cert_pem, client.certificate_pem());
    EXPECT_EQ(credentials->client_key_pem, client.key_pem());
    EXPECT_EQ(credentials->authorization, "");
    write("status", R"({"clientCertificateData":"rubbish","clientKeyData":"rubbish"})");
    EXPECT_NE(plugin()->get().error().text.find("client-certificate: is not a PEM certificate"),
              std::string::npos);
}

// Goal: an error says what failed, and how to install a missing program. It is "unavailable": the
// server has refused nothing.
TEST_F(ExecPluginTest, SaysWhatFailed) {
    const auto failed = plugin()->get();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::unavailable);
    EXPECT_NE(failed.error().text.find("plugin: exit status 7"), std::string::npos);
    write("status", "{}");
    const auto empty = plugin()->get();
    ASSERT_FALSE(empty);
    EXPECT_EQ(empty.error().code, Code::unavailable);
    EXPECT_NE(empty.error().text.find("has neither a token nor"), std::string::npos);
    const auto missing = (*make("{apiVersion: client.authentication.k8s.io/v1beta1, "
                                "command: tessera-no-such-plugin, installHint: get it at x}"))
                             ->get();
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::unavailable);
    EXPECT_EQ(missing.error().text,
              "kubeconfig: exec: tessera-no-such-plugin: No such file or directory; get it at x");
}

TEST_F(ExecPluginTest, RefusesWrongFields) {
    struct Case {
        std::string exec;
        std::string part;
    };
    const std::string v1 = "{apiVersion: client.authentication.k8s.io/v1, ";
    const std::vector<Case> cases = {
        {v1 + "interactiveMode: Never}", "exec: command: is missing"},
        {"{command: a, apiVersion: client.authentication.k8s.io/v1alpha1}",
         "exec: apiVersion: \"client.authentication.k8s.io/v1alpha1\" is not "},
        {v1 + "command: a}", "interactiveMode: \"\" is not Never, IfAvailable or Always"},
        {v1 + "command: a, interactiveMode: never}", "interactiveMode: \"never\""},
        {v1 + "command: a, interactiveMode: Never, env: [{value: x}]}", "env: \"\""},
        {v1 + "command: a, interactiveMode: Never, env: [{name: a=b}]}", "env: \"a=b\""},
    };
    for (const Case& c : cases) {
        const auto made = make(c.exec);
        ASSERT_FALSE(made) << c.exec;
        EXPECT_EQ(made.error().code, Code::invalid_argument);
        EXPECT_NE(made.error().text.find(c.part), std::string::npos) << made.error().text;
    }
}

// Goal: a request has the token. After a 401 the next one has a new token.
TEST_F(ExecPluginTest, RequestsHaveTheToken) {
    const RawListener listener;
    std::vector<std::string> requests;
    {
        const std::jthread server([&] {
            RawPeer peer = listener.accept();
            for (const char* status : {"401 Unauthorized", "200 OK"}) {
                requests.push_back(peer.read_until("\r\n\r\n"));
                peer.send(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 0\r\n\r\n");
            }
        });
        HttpClient client(
            {.host = "127.0.0.1", .port = listener.port(), .tls = false, .credentials = plugin()});
        write("status", R"({"token":"one"})");
        const auto refused = client.send({"GET", "/", "", ""}, std::chrono::seconds(10));
        ASSERT_TRUE(refused) << refused.error().text;
        EXPECT_EQ(refused->status, 401);
        write("status", R"({"token":"two"})");
        EXPECT_EQ(client.send({"GET", "/", "", ""}, std::chrono::seconds(10))->status, 200);
    }
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_NE(requests[0].find("Authorization: Bearer one\r\n"), std::string::npos) << requests[0];
    EXPECT_NE(requests[1].find("Authorization: Bearer two\r\n"), std::string::npos) << requests[1];
}

}  // namespace
}  // namespace tessera

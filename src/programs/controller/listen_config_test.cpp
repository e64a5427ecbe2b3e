#include "programs/controller/listen_config.hpp"

#include <gtest/gtest.h>

#include "adapters/os/pause.hpp"

namespace tessera {
namespace {

struct Case {
    const char* listen;
    HttpTlsFiles tls;
    bool plain_http;
    const char* fault;  // how the error begins; empty: the configuration is valid
};

// Goal: a configuration that lets unauthenticated clients in is refused, and the error says what to
// set.
TEST(ListenConfig, RefusesOpenDoors) {
    // A valid configuration fails when its files are read, because these do not exist.
    const HttpTlsFiles all{"/none/tls.crt", "/none/tls.key", "/none/ca.crt"};
    const char* const reads = "/none/tls.crt: ";
    const std::vector<Case> cases = {
        {"127.0.0.1", {}, false, ""},
        {"127.1.2.3", {}, false, ""},
        {"::1", {}, false, ""},
        {"localhost", {}, false, ""},
        {"0.0.0.0", {}, true, ""},
        {"127.0.0.1", {}, true, ""},
        {"0.0.0.0", {}, false, "listen: other machines can reach \"0.0.0.0\": set tls_cert"},
        {"10.0.0.1", {}, false, "listen: "},
        {"127.example", {}, false, "listen: "},
        {"::", {}, false, "listen: "},
        {"::ffff:127.0.0.1", {}, false, "listen: "},
        {"node-a", {}, false, "listen: "},
        {"", {}, false, "listen: "},
        {"0.0.0.0", {"/none/tls.crt", "/none/tls.key", ""}, false, "client_ca_file: missing: "},
        {"0.0.0.0", all, true, "plain_http: conflicts with tls_certificate_file"},
        {"127.0.0.1", {"/none/tls.crt", "", ""}, false, "tls_key_file: missing: "},
        {"127.0.0.1", {"", "/none/tls.key", ""}, false, "tls_certificate_file: missing: "},
        {"127.0.0.1", {"", "", "/none/ca.crt"}, false, "client_ca_file: requires "},
        {"0.0.0.0", all, false, reads},
        {"127.0.0.1", {"/none/tls.crt", "/none/tls.key", ""}, false, reads},
    };
    for (const Case& c : cases) {
        const auto checked =
            check_listen_config({.listen = c.listen, .tls = c.tls, .plain_http = c.plain_http});
        const std::string text = checked ? "" : checked.error().text;
        EXPECT_EQ(text.empty(), *c.fault == '\0') << c.listen << ": " << text;
        EXPECT_TRUE(text.starts_with(c.fault)) << text;
    }
}

// Goal: two servers with the same port are refused before one of them starts.
TEST(ListenConfig, HealthHasItsOwnPort) {
    const auto refused =
        check_listen_config({.listen = "127.0.0.1", .port = 12345, .health_port = 12345});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text,
              "health_port: 12345 is also the value of port; set another, or 0");
    EXPECT_TRUE(check_listen_config({.listen = "127.0.0.1", .port = 12345, .health_port = 12346}));
}

// Goal: the controller waits for a port that becomes free within seconds, and a stop ends the wait.
// Method: another server has the port for a moment.
TEST(ListenConfig, WaitsForThePort) {
    const auto answer = [](HttpRequest&) { return HttpResponse{}; };
    auto before = std::make_unique<HttpServer>(HttpServerOptions{.address = "127.0.0.1"}, answer);
    const int port = before->listen().value();
    HttpServer next({.address = "127.0.0.1", .port = port}, answer);
    EXPECT_FALSE(next.listen());
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_FALSE(listen_soon(next, stopped.get_token()));
    const std::jthread ends([&] {
        pause_for(std::chrono::milliseconds(300), {});
        before.reset();
    });
    EXPECT_EQ(listen_soon(next, {}).value_or(0), port);
}

// Goal: the URL for other machines has the address and the scheme with which this replica answers.
TEST(ListenConfig, OwnUrl) {
    const auto url = [](const std::string& listen, const std::string& advertise, bool tls) {
        const auto read = read_own_url({.listen = listen,
                                        .port = 12345,
                                        .tls = {tls ? "c" : "", tls ? "k" : "", ""},
                                        .advertise = advertise});
        return read ? *read : read.error().text;
    };
    EXPECT_EQ(url("127.0.0.1", "", false), "http://127.0.0.1:12345");
    EXPECT_EQ(url("127.0.0.1", "", true), "https://127.0.0.1:12345");
    EXPECT_EQ(url("fd00::1", "", true), "https://[fd00::1]:12345");
    EXPECT_EQ(url("0.0.0.0", "https://10.0.0.1:12345", true), "https://10.0.0.1:12345");
    EXPECT_TRUE(url("0.0.0.0", "", true).starts_with("advertise: missing"));
    EXPECT_TRUE(url("::", "", false).starts_with("advertise: missing"));
    EXPECT_TRUE(url("0.0.0.0", "http://10.0.0.1:12345", true).starts_with("advertise: "));
    EXPECT_TRUE(url("0.0.0.0", "https://10.0.0.1:12345", false).starts_with("advertise: "));
    EXPECT_TRUE(url("0.0.0.0", "https://10.0.0.1:12345/", true).starts_with("advertise: "));
}

}  // namespace
}  // namespace tessera

#include "domain/serving/probe_flags.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

using Texts = std::vector<std::string>;

Result<Probe> probe_of(const ProbeFlags& flags, bool is_ready = false) {
    Probe probe{.action = ProbeAction::tcp, .port = 5000, .failures = 720};
    TRY_VOID(read_probe_flags(
        "liveness", flags,
        {.rest_port = 5000, .grpc_port = 5001, .shell = "sh", .is_ready = is_ready}, probe));
    return probe;
}

std::string error_of(const ProbeFlags& flags) {
    const auto probe = probe_of(flags);
    return probe ? "" : probe.error().text;
}

// Goal: each action has its port or command, and what the flags do not say stays.
TEST(ProbeFlags, Actions) {
    EXPECT_EQ(probe_of({})->failures, 720);
    const Probe http = probe_of({"httpGet", {"path: /healthz", "scheme=HTTPS"}, {}}).value();
    EXPECT_EQ(http.action, ProbeAction::http);
    EXPECT_EQ(http.path, "/healthz");
    EXPECT_EQ(http.scheme, "HTTPS");
    EXPECT_EQ(http.port, 5000);
    EXPECT_EQ(http.failures, 720);
    EXPECT_EQ(probe_of({"httpGet", {}, {}})->path, "/");
    const Probe exec = probe_of({"exec", {"command=cat /x=y: z"}, {}}).value();
    EXPECT_EQ(exec.command, (Texts{"sh", "-c", "cat /x=y: z"}));
    const Probe grpc = probe_of({"grpc", {"service: health"}, {}}).value();
    EXPECT_EQ(grpc.port, 5001);
    EXPECT_EQ(grpc.service, "health");
    EXPECT_EQ(probe_of({"tcpSocket", {"port: 7000"}, {}})->port, 7000);
}

TEST(ProbeFlags, Options) {
    const Probe probe = probe_of({"",
                                  {},
                                  {"initialDelaySeconds: 0", "periodSeconds=3", "timeoutSeconds:2",
                                   "failureThreshold: 4"}})
                            .value();
    EXPECT_EQ(probe.period_s, 3);
    EXPECT_EQ(probe.timeout_s, 2);
    EXPECT_EQ(probe.failures, 4);
    EXPECT_EQ(probe_of({"", {}, {"successThreshold: 2"}}, true)->successes, 2);
}

TEST(ProbeFlags, Mistakes) {
    EXPECT_EQ(error_of({"http", {}, {}}),
              "--liveness-probe-action: \"http\" is not httpGet, exec, grpc or tcpSocket");
    EXPECT_EQ(error_of({"", {"path: /"}, {}}),
              "--liveness-probe-action-option: needs --liveness-probe-action, which says what the "
              "probe does");
    EXPECT_EQ(error_of({"exec", {}, {}}),
              "--liveness-probe-action-option: is missing; exec needs a command, as in \"command: "
              "cat /ready\"");
    EXPECT_EQ(error_of({"httpGet", {"path: healthz"}, {}}),
              "--liveness-probe-action-option: \"path: healthz\" is no option of httpGet; it has "
              "path, port and scheme, as in \"path: /healthz\"");
    for (const char* text : {"port: 0", "port: 70000", "port: a"}) {
        EXPECT_EQ(error_of({"grpc", {text}, {}}),
                  std::string("--liveness-probe-action-option: \"") + text +
                      "\" is not a port from 1 to 65535");
    }
    for (const char* text : {"period: 3", "periodSeconds", "periodSeconds:", ": 3", ""}) {
        EXPECT_NE(error_of({"", {}, {text}}).find("is no option of a probe"), std::string::npos)
            << text;
    }
    for (const char* text : {"periodSeconds: 0", "periodSeconds: -1", "periodSeconds: 9999999999",
                             "periodSeconds: 3s"}) {
        EXPECT_NE(error_of({"", {}, {text}}).find("does not end with a number from 1 to 86400"),
                  std::string::npos)
            << text;
    }
    EXPECT_EQ(error_of({"", {}, {"successThreshold: 2"}}),
              "--liveness-probe-option: \"successThreshold: 2\" must be 1, except for the "
              "readiness probe");
}

}  // namespace
}  // namespace tessera::workload

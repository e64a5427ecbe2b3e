#include "adapters/kube/kube_call.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "adapters/kube/scripted_server_test.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;

// Goal: a request that a busy API server did not carry out is sent again, once it may have an
// answer.
TEST(KubeCall, SendsAgainWhatABusyServerRefused) {
    ScriptedServer server;
    server.answer("POST /x", 429, R"({"message":"storage is (re)initializing"})", 1);
    server.answer("POST /x", 201, "made");
    const auto made = kube_post(server.client(), "/x", "{}", milliseconds(60'000));
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(*made, "made");
    EXPECT_EQ(server.requests().size(), 2U);
}

// Goal: nothing else is sent again: a budget that refuses an eviction, a request without the time
// for it, and answers after which the request may have been carried out.
TEST(KubeCall, SendsNothingElseAgain) {
    struct Case {
        int status;
        int retry_after_s;
        milliseconds deadline;
    };
    constexpr milliseconds kLong{60'000};
    constexpr std::array<Case, 4> kCases{
        {{429, 0, kLong}, {429, 10, kLong}, {429, 2, milliseconds(1'900)}, {503, 1, kLong}}};
    for (const Case& one : kCases) {
        ScriptedServer server;
        server.answer("POST /x", one.status, R"({"message":"no"})", one.retry_after_s);
        const auto made = kube_post(server.client(), "/x", "{}", one.deadline);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, Code::unavailable);
        EXPECT_EQ(server.requests().size(), 1U) << one.status << " " << one.retry_after_s;
    }
}

}  // namespace
}  // namespace tessera

#include "programs/common/small_server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "adapters/http/raw_peer_test.hpp"
#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

using std::chrono::seconds;

HttpResponse here(const HttpRequest&) {
    return {.body = "here"};
}

std::string request(int port) {
    const auto answer = HttpClient({.host = "127.0.0.1", .port = port, .tls = false})
                            .send({"GET", "/", "", ""}, seconds(5));
    return answer ? answer->body : answer.error().text;
}

// Goal: a port that another program has is tried again, some seconds apart. `tell` is called once
// when the port is taken, and once when it is open.
TEST(SmallServer, ServesWhenThePortIsFree) {
    std::optional<RawListener> other(std::in_place);
    const int port = other->port();
    FakeClock clock;
    clock.on_sleep([&] {
        if (clock.sleeps() == 2) other.reset();
    });
    const auto begin = clock.steady();
    std::vector<std::string> reported;
    std::promise<void> serves;
    std::stop_source stop;
    auto server = serve_when_free(
        {.address = "127.0.0.1", .port = port}, here, clock,
        [&](const Result<>& listens) {
            reported.push_back(listens ? "on" : listens.error().text);
            if (listens) serves.set_value();
        },
        stop.get_token());
    ASSERT_EQ(serves.get_future().wait_for(seconds(30)), std::future_status::ready);
    EXPECT_EQ(request(port), "here");
    stop.request_stop();
    server.join();
    ASSERT_EQ(reported.size(), 2U);
    EXPECT_NE(reported[0].find("cannot listen on 127.0.0.1"), std::string::npos) << reported[0];
    EXPECT_EQ(reported[1], "on");
    EXPECT_EQ(clock.steady() - begin, 2 * kListenAgain);
}

// Goal: if the port is free at once, `tell` is not called.
TEST(SmallServer, SaysNothingOfAFreePort) {
    const int port = RawListener().port();
    FakeClock clock;
    int reported = 0;
    std::stop_source stop;
    auto server = serve_when_free(
        {.address = "127.0.0.1", .port = port}, here, clock, [&](const Result<>&) { ++reported; },
        stop.get_token());
    for (int i = 0; i < 1'000 && request(port) != "here"; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(request(port), "here");
    stop.request_stop();
    server.join();
    EXPECT_EQ(reported, 0);
}

// Goal: a program that cannot start ends, although it was not told to stop: its servers end with
// their threads, whether they serve or wait for their port.
TEST(SmallServer, EndsWithItsThread) {
    const RawListener other;
    FakeClock clock;
    const std::stop_source never;
    for (const int port : {RawListener().port(), other.port()}) {
        const auto waiting = serve_when_free(
            {.address = "127.0.0.1", .port = port}, here, clock, [](const Result<>&) {},
            never.get_token());
        const auto beside =
            serve_beside({.address = "127.0.0.1", .port = 0}, here, never.get_token());
        EXPECT_TRUE(beside);
    }
}

// Goal: a server that never gets its port ends when it is asked to stop.
TEST(SmallServer, StopsWaitingForAPort) {
    const RawListener other;
    FakeClock clock;
    int reported = 0;
    std::stop_source stop;
    auto server = serve_when_free(
        {.address = "127.0.0.1", .port = other.port()}, here, clock,
        [&](const Result<>& listens) {
            reported += listens ? 100 : 1;
            stop.request_stop();
        },
        stop.get_token());
    server.join();
    EXPECT_EQ(reported, 1);
}

}  // namespace
}  // namespace tessera

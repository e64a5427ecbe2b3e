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

std::string ask(int port) {
    const auto answer = HttpClient({.host = "127.0.0.1", .port = port, .tls = false})
                            .send({"GET", "/", "", ""}, seconds(5));
    return answer ? answer->body : answer.error().text;
}

// Goal: a port that another has is tried again, some seconds apart; that it is taken is told once,
// and once that it is not.
TEST(SmallServer, ServesWhenThePortIsFree) {
    std::optional<RawListener> other(std::in_place);
    const int port = other->port();
    FakeClock clock;
    clock.on_sleep([&] {
        if (clock.sleeps() == 2) other.reset();
    });
    const auto begin = clock.steady();
    std::vector<std::string> told;
    std::promise<void> serves;
    std::stop_source stop;
    auto server = serve_when_free(
        {.address = "127.0.0.1", .port = port}, here, clock,
        [&](const Result<>& listens) {
            told.push_back(listens ? "on" : listens.error().text);
            if (listens) serves.set_value();
        },
        stop.get_token());
    ASSERT_EQ(serves.get_future().wait_for(seconds(30)), std::future_status::ready);
    EXPECT_EQ(ask(port), "here");
    stop.request_stop();
    server.join();
    ASSERT_EQ(told.size(), 2U);
    EXPECT_NE(told[0].find("cannot listen on 127.0.0.1"), std::string::npos) << told[0];
    EXPECT_EQ(told[1], "on");
    EXPECT_EQ(clock.steady() - begin, 2 * kListenAgain);
}

// Goal: who has the port at once has nothing to tell.
TEST(SmallServer, SaysNothingOfAFreePort) {
    const int port = RawListener().port();
    FakeClock clock;
    int told = 0;
    std::stop_source stop;
    auto server = serve_when_free(
        {.address = "127.0.0.1", .port = port}, here, clock, [&](const Result<>&) { ++told; },
        stop.get_token());
    for (int i = 0; i < 1'000 && ask(port) != "here"; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(ask(port), "here");
    stop.request_stop();
    server.join();
    EXPECT_EQ(told, 0);
}

// Goal: who never gets the port ends when asked to.
TEST(SmallServer, StopsWaitingForAPort) {
    const RawListener other;
    FakeClock clock;
    int told = 0;
    std::stop_source stop;
    auto server = serve_when_free(
        {.address = "127.0.0.1", .port = other.port()}, here, clock,
        [&](const Result<>& listens) {
            told += listens ? 100 : 1;
            stop.request_stop();
        },
        stop.get_token());
    server.join();
    EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace tessera

// Goal: rounds follow each other with a pause, and a stop ends both.
#include "app/common/periodic.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

using namespace std::chrono_literals;

TEST(Repeat, PausesBetweenRounds) {
    FakeClock clock;
    std::stop_source stop;
    int rounds = 0;
    clock.on_sleep([&] {
        if (clock.sleeps() == 3) stop.request_stop();
    });
    const auto began = clock.steady();
    repeat(clock, 5s, stop.get_token(), [&](const std::stop_token&) { ++rounds; });
    EXPECT_EQ(rounds, 3);
    EXPECT_EQ(clock.steady() - began, 15s);
}

TEST(Repeat, RunsNothingAfterAStop) {
    FakeClock clock;
    std::stop_source stop;
    stop.request_stop();
    repeat(clock, 5s, stop.get_token(), [](const std::stop_token&) { FAIL(); });
}

// Goal: a stop ends a pause at once, and no round runs after it.
TEST(Periodic, StopsInAPause) {
    FakeClock clock;
    std::atomic<int> rounds = 0;
    Periodic task(clock, 1h, [&](const std::stop_token&) {
        ++rounds;
        rounds.notify_all();
    });
    EXPECT_EQ(rounds, 0) << "it was not started";
    task.start();
    rounds.wait(0);
    task.stop();
    clock.advance(2h);
    EXPECT_EQ(rounds, 1);
}

// Goal: a long round sees the stop, and stop() returns after it.
TEST(Periodic, StopsALongRound) {
    FakeClock clock;
    std::atomic<bool> began = false;
    std::atomic<bool> ended = false;
    Periodic task(clock, 1h, [&](const std::stop_token& stop) {
        began = true;
        began.notify_all();
        while (!stop.stop_requested())
            std::this_thread::yield();
        ended = true;
    });
    task.start();
    began.wait(false);
    EXPECT_FALSE(ended);
    task.stop();
    EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace tessera

#include "testing/simulation/loop.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera::simulation {
namespace {

using namespace std::chrono_literals;

class LoopTest : public ::testing::Test {
  protected:
    void run() {
        while (loop_.step()) {
        }
    }

    Rng rng_{1};
    Loop loop_{rng_};
};

// Goal: events run in the order of their times, and only they advance the time.
TEST_F(LoopTest, EventsInOrder) {
    std::string order;
    loop_.at(2s, [&] { order += 'b'; });
    loop_.at(1s, [&] {
        order += 'a';
        loop_.after(3s, [&] { order += 'c'; });
    });
    run();
    EXPECT_EQ(order, "abc");
    EXPECT_EQ(loop_.now(), Time(4s));
}

// Goal: a wait ends after its timeout or when it is woken, and returns which; a late wake has no
// effect on the next wait.
TEST_F(LoopTest, WaitsAndIsWoken) {
    Process process(loop_, "p");
    Waiter first;
    bool woken = false;
    bool woken_again = true;
    process.spawn([&] {
        first = loop_.me();
        woken = loop_.wait(10s);
        loop_.wake(first);
        woken_again = loop_.wait(1s);
    });
    loop_.at(2s, [&] { loop_.wake(first); });
    run();
    EXPECT_TRUE(woken);
    EXPECT_FALSE(woken_again);
}

// Goal: a killed process never continues: its tasks are unwound at their waits, and a task that has
// not started never starts.
TEST_F(LoopTest, KillUnwinds) {
    int unwound = 0;
    bool went_on = false;
    struct Count {
        int& count;
        ~Count() { ++count; }
    };
    Process process(loop_, "p");
    process.spawn([&] {
        const Count count{unwound};
        loop_.sleep(10s);
        went_on = true;
    });
    loop_.at(1s, [&] {
        process.spawn([&] { went_on = true; });
        process.kill();
    });
    run();
    EXPECT_EQ(unwound, 1);
    EXPECT_FALSE(went_on);
    EXPECT_FALSE(process.alive());
}

// Goal: a call returns the result of another process, or nothing if that process is killed or the
// call times out.
TEST_F(LoopTest, Calls) {
    Process caller(loop_, "caller");
    Process callee(loop_, "callee");
    std::optional<int> answer;
    std::optional<int> late = 1;
    std::optional<int> dead = 1;
    std::optional<int> too_late = 1;
    caller.spawn([&] {
        const auto slow = [this] {
            loop_.sleep(5s);
            return 7;
        };
        answer = call(loop_, callee, 10s, slow);
        late = call(loop_, callee, 1s, slow);
        loop_.at(loop_.now() + 1s, [&] { callee.kill(); });
        dead = call(loop_, callee, 10s, slow);
        too_late = call(loop_, callee, 10s, slow);
    });
    run();
    EXPECT_EQ(answer, 7);
    EXPECT_EQ(late, std::nullopt);
    EXPECT_EQ(dead, std::nullopt);
    EXPECT_EQ(too_late, std::nullopt);
}

}  // namespace
}  // namespace tessera::simulation

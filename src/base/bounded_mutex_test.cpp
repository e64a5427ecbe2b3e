#include "base/bounded_mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

namespace tessera {
namespace {

using std::chrono::milliseconds;

// Goal: one thread at a time has it, and a thread that waits too long does without.
TEST(BoundedMutex, WaitersGiveUp) {
    BoundedMutex mutex;
    {
        const auto held = mutex.lock_within(milliseconds{0});
        ASSERT_TRUE(held);
        EXPECT_FALSE(mutex.lock_within(milliseconds{1}));
    }
    EXPECT_TRUE(mutex.lock_within(milliseconds{0})) << "it was unlocked";
}

TEST(BoundedMutex, WaitersGetIt) {
    BoundedMutex mutex;
    int count = 0;
    const auto add = [&] {
        for (int i = 0; i < 1000; ++i) {
            const BoundedMutex::Lock lock = mutex.lock();
            ++count;
        }
    };
    {
        const std::jthread one(add);
        const std::jthread two(add);
    }
    EXPECT_EQ(count, 2000);
}

// Goal: a thread that locks it again and again lets a waiting one pass.
TEST(BoundedMutex, IsFair) {
    BoundedMutex mutex;
    std::atomic<bool> is_waiting = false;
    std::atomic<bool> is_done = false;
    auto lock = std::make_unique<BoundedMutex::Lock>(mutex.lock());
    const std::jthread other([&] {
        is_waiting = true;
        const BoundedMutex::Lock turn = mutex.lock();
        is_done = true;
    });
    while (!is_waiting)
        std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds{50});
    lock.reset();
    lock = std::make_unique<BoundedMutex::Lock>(mutex.lock());
    EXPECT_TRUE(is_done);
}

// Goal: a thread that gives up does not keep the next one from its turn.
TEST(BoundedMutex, PassesTheTurnOn) {
    BoundedMutex mutex;
    auto held = std::make_unique<BoundedMutex::Lock>(mutex.lock());
    const std::jthread impatient([&] { EXPECT_FALSE(mutex.lock_within(milliseconds{20})); });
    std::this_thread::sleep_for(milliseconds{5});
    const std::jthread patient([&] { const BoundedMutex::Lock turn = mutex.lock(); });
    std::this_thread::sleep_for(milliseconds{60});
    held.reset();
}

}  // namespace
}  // namespace tessera

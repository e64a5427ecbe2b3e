#include "base/bounded_mutex.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tessera

#include "testing/simulation/fiber.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tessera::simulation {
namespace {

// Goal: a fiber suspends in the middle and continues from there; two fibers take turns.
TEST(Fiber, TakesTurns) {
    std::string order;
    const auto body = [&order](char name) {
        return [&order, name] {
            for (int i = 0; i < 3; ++i) {
                order += name;
                Fiber::suspend();
            }
        };
    };
    Fiber a(body('a'));
    Fiber b(body('b'));
    while (!a.done() || !b.done()) {
        if (!a.done()) a.resume();
        if (!b.done()) b.resume();
    }
    EXPECT_EQ(order, "ababab");
    EXPECT_EQ(Fiber::current(), nullptr);
}

// Goal: an exception after a suspension unwinds only the stack of its own fiber.
TEST(Fiber, UnwindsItsOwnStack) {
    int unwound = 0;
    struct Count {
        int& count;
        ~Count() { ++count; }
    };
    Fiber other([] { Fiber::suspend(); });
    Fiber fiber([&] {
        try {
            const Count count{unwound};
            Fiber::suspend();
            throw std::runtime_error("end");
        } catch (const std::runtime_error&) {
            ++unwound;
        }
    });
    fiber.resume();
    other.resume();
    EXPECT_EQ(unwound, 0);
    fiber.resume();
    EXPECT_EQ(unwound, 2);
    other.resume();
    EXPECT_TRUE(fiber.done() && other.done());
}

}  // namespace
}  // namespace tessera::simulation

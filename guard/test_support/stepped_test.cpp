// Goal: a test that runs a part of itself in steps is notified when that part crashes or fails.
#include "guard/test_support/stepped.hpp"

#include <gtest/gtest-spi.h>

namespace tessera::guard {
namespace {

TEST(SteppedTest, ACrashEndsItAndIsAFailure) {
    SteppedProcess process([] { raise(SIGSEGV); });
    EXPECT_NONFATAL_FAILURE(process.finish(), "signal");
    EXPECT_FALSE(process.step());
}

TEST(SteppedTest, AFailureInItIsAFailure) {
    SteppedProcess process([] { _exit(1); });
    EXPECT_NONFATAL_FAILURE(process.finish(), "exit status");
}

TEST(SteppedTest, WhatIsKilledHasNotFailed) {
    SteppedProcess process([] { raise(SIGSTOP); });
    process.run_to_stop();
    EXPECT_TRUE(process.step());
    process.kill_hard();
}

}  // namespace
}  // namespace tessera::guard

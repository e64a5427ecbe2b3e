// Goal: the number that a process has in its container is found, and nothing else is taken for it.
#include "wire/process_status.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ProcessStatus, InnermostPid) {
    EXPECT_EQ(innermost_pid("Name:\tx\nNSpid:\t4711\t17\t1\nNSpgid:\t9\n"), 1);
    EXPECT_EQ(innermost_pid("Name:\tx\nNSpid:\t4711\nNSpgid:\t9\n"), 4711);
    EXPECT_EQ(innermost_pid("Name:\tx\nNSpid:\t4711"), 4711);
    for (const char* text : {"", "Name:\tx\nPid:\t3\n", "NSpid:\t4\n", "Name:\tNSpid:\t5\n",
                             "Name:\tx\nNSpid:\n", "Name:\tx\nNSpid:\t\n", "Name:\tx\nNSpid:\t-1\n",
                             "Name:\tx\nNSpid:\t1x\n", "Name:\tx\nNSpid:\t99999999999999999999\n"})
        EXPECT_EQ(innermost_pid(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tessera

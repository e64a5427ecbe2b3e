// Goal: the pid that a process has in its container is found, and no other number is taken for it.
#include "wire/node/process_status.hpp"

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

TEST(ProcessStatus, ParentPid) {
    EXPECT_EQ(parent_pid("Name:\tx\nPid:\t9\nPPid:\t4711\nNSpid:\t9\n"), 4711);
    for (const char* text :
         {"", "PPid:\t4\n", "Name:\tPPid:\t5\n", "Name:\tx\nPPid:\t0\n", "Name:\tx\nPPid:\t1x\n"})
        EXPECT_EQ(parent_pid(text), std::nullopt) << text;
}

// Goal: a program cannot change its start time by its name.
TEST(ProcessStatus, StartTicks) {
    const std::string after = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
    EXPECT_EQ(start_ticks("42 (sh)" + after), 4711);
    EXPECT_EQ(start_ticks("42 (a) R 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 (b)" + after), 4711);
    EXPECT_EQ(start_ticks("42 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 9\n"), 9);
    for (const std::string text : {"", "42 sh", "42 (sh)", "42 (sh) S 1 2 3",
                                   "42 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 -1",
                                   "42 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1x 2"})
        EXPECT_EQ(start_ticks(text), std::nullopt) << text;
}

}  // namespace
}  // namespace tessera

#include "adapters/os/command.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera {
namespace {

Command shell(const std::string& script) {
    return {.program = "sh", .arguments = {"-c", script}};
}

// Goal: a program receives its arguments and environment, and its output is returned.
TEST(RunCommand, ReturnsTheOutput) {
    ::setenv("TESSERA_COMMAND_TEST", "old", 1);
    Command command = shell(R"(printf '%s' "$0 $TESSERA_COMMAND_TEST $OTHER")");
    command.arguments.emplace_back("argument");
    command.environment = {{"TESSERA_COMMAND_TEST", "new"}, {"OTHER", "x y"}};
    const auto output = run_command(command);
    ASSERT_TRUE(output) << output.error().text;
    EXPECT_EQ(*output, "argument new x y");
}

// Goal: a program that may not ask has no standard input.
TEST(RunCommand, HasNoInput) {
    const auto output = run_command(shell("cat; echo end"));
    ASSERT_TRUE(output) << output.error().text;
    EXPECT_EQ(*output, "end\n");
}

// Goal: a program gets all of its input, and then the end of it.
TEST(RunCommand, GivesTheInput) {
    Command command = shell("cat; echo end");
    const std::string much(std::size_t{32} << 10, 'x');
    command.input = much;
    const auto output = run_command(command);
    ASSERT_TRUE(output) << output.error().text;
    EXPECT_EQ(*output, much + "end\n");
    command.input = "";
    EXPECT_EQ(run_command(command).value_or("none"), "end\n");
    command.input = much + "x";
    const auto refused = run_command(command);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    // It need not read it.
    EXPECT_EQ(run_command({.program = "true", .input = much}).value_or("none"), "");
}

// Goal: what a failed program says reaches the caller.
TEST(RunCommand, ReturnsErrorsInTheOutput) {
    Command command = shell("echo one; echo two >&2");
    command.errors_in_output = true;
    EXPECT_EQ(run_command(command).value_or("none"), "one\ntwo\n");
    command = shell("echo one; echo two >&2; exit 1");
    command.errors_in_output = true;
    const auto failed = run_command(command);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().text, "sh: exit status 1: two");
    command = shell("exit 1");
    command.errors_in_output = true;
    EXPECT_EQ(run_command(command).error().text, "sh: exit status 1");
}

TEST(RunCommand, SaysWhatFailed) {
    const auto missing = run_command({.program = "/nonexistent/plugin"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::not_found);
    EXPECT_EQ(missing.error().text, "/nonexistent/plugin: No such file or directory");
    const auto failed = run_command(shell("echo text; exit 3"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().text, "sh: exit status 3");
    const auto killed = run_command(shell("kill -9 $$"));
    ASSERT_FALSE(killed);
    EXPECT_EQ(killed.error().text, "sh: ended by signal 9");
}

// Goal: a program that neither ends nor stops printing does not hold us up.
TEST(RunCommand, HasLimits) {
    Command hangs = shell("exec sleep 1000");
    hangs.deadline = std::chrono::seconds(1);
    const auto late = run_command(hangs);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().text, "sh: does not end within 1 s");
    hangs = shell("exec 1>&-; exec sleep 1000");
    hangs.deadline = std::chrono::seconds(1);
    EXPECT_FALSE(run_command(hangs)) << "it closed its output";
    Command prints = shell("exec yes");
    prints.most_bytes = 10'000;
    const auto much = run_command(prints);
    ASSERT_FALSE(much);
    EXPECT_EQ(much.error().text, "sh: prints more than 10000 bytes");
}

}  // namespace
}  // namespace tessera

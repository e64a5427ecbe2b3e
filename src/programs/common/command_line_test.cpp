#include "programs/common/command_line.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "programs/common/validators.hpp"

namespace tessera {
namespace {

// Goal: an empty value belongs to its option, and the next word keeps its own meaning. Method:
// through CLI11 itself.
TEST(CommandLine, EmptyValues) {
    CLI::App app;
    std::string key = "unset";
    bool check = false;
    app.add_option("--key", key);
    app.add_flag("--check", check);
    const auto argv = std::to_array<const char*>({"program", "--key=", "--check"});
    app.parse(command_line(app, static_cast<int>(argv.size()), argv.data()));
    EXPECT_EQ(key, "");
    EXPECT_TRUE(check);
}

// Goal: a short name and its value may be joined as kubectl joins them, for a flag too. Method:
// through CLI11 itself.
TEST(CommandLine, ShortNamesWithValues) {
    CLI::App app;
    std::string output;
    bool details = true;
    app.add_option("-o,--output", output);
    app.add_flag("-d,--details", details);
    const auto argv = std::to_array<const char*>({"program", "-o=json", "-d=false"});
    app.parse(command_line(app, static_cast<int>(argv.size()), argv.data()));
    EXPECT_EQ(output, "json");
    EXPECT_FALSE(details);
}

// Goal: a short name means what it means for its command, and the words of another program, after
// "--", are its own.
TEST(CommandLine, OfACommand) {
    CLI::App app;
    CLI::App* get = app.add_subcommand("get")->alias("show");
    std::string data;
    std::vector<std::string> words;
    get->add_option("-d,--data", data);
    add_words(*get, words, "a command line");
    app.parse(command_line(
        app, {"show", "-d=a=b", "--", "python", "-n=4", "--prefix=", "-d=x", "[1,2]", "[ -f x ]"}));
    const std::vector<std::string> expected{
        "python", "-n=4", "--prefix=", "-d=x", "[1,2]", "[ -f x ]"};
    EXPECT_EQ(data, "a=b");
    EXPECT_EQ(words, expected);
    EXPECT_EQ(get->get_option("words")->results(), expected);
}

// Goal: the namespace and the cluster may precede the command, and other words stay where they are.
TEST(CommandLine, BeforeTheCommand) {
    CLI::App app;
    CLI::App* serve = app.add_subcommand("serve");
    serve->add_subcommand("list");
    const auto line = [&](std::vector<std::string> arguments) {
        auto words = command_line(app, std::move(arguments));
        std::ranges::reverse(words);
        return words;
    };
    using Words = std::vector<std::string>;
    EXPECT_EQ(line({"-n", "list", "--context=c", "serve", "list", "-A"}),
              (Words{"serve", "list", "-n", "list", "--context=c", "-A"}));
    EXPECT_EQ(line({"-nteam", "serve", "list"}), (Words{"serve", "list", "-nteam"}));
    EXPECT_EQ(line({"--config", "file", "serve"}), (Words{"serve", "--config", "file"}));
    for (const Words& words :
         {Words{"serve", "-n", "a", "list"}, Words{"-o", "json", "serve"}, Words{"-n"},
          Words{"-n", "serve"}, Words{"-n", "a", "--", "serve"}, Words{}})
        EXPECT_EQ(line(words), words);
}

// Goal: whole numbers are decimal, with or without leading zeros, for one value or several, and
// nothing else is accepted. Method: through CLI11 itself.
TEST(CommandLine, WholeNumbers) {
    CLI::App app;
    int one = 0;
    std::vector<int> several;
    std::uint64_t large = 0;
    app.add_option("--one", one)->transform(whole_number(0, 100));
    app.add_option("--several", several)->delimiter(',')->transform(whole_number(1, 100));
    app.add_option("--large", large)
        ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
    app.parse("--one 010 --several '050, 052,100' --large 018446744073709551615");
    EXPECT_EQ(one, 10);
    EXPECT_EQ(several, (std::vector{50, 52, 100}));
    EXPECT_EQ(large, std::numeric_limits<std::uint64_t>::max());
    for (const std::string text : {"-1", "101", "0x10", "1.5", "1e1", "many"}) {
        EXPECT_THROW(app.parse("--one=" + text), CLI::ValidationError) << text;
        EXPECT_THROW(app.parse("--several=5," + text), CLI::ValidationError) << text;
    }
}

// Goal: all other words are unchanged, the last word first.
TEST(CommandLine, OtherWords) {
    const CLI::App app;
    const auto argv =
        std::to_array<const char*>({"program", "top", "--a=b=", "-o", "", "--", "c="});
    EXPECT_EQ(command_line(app, static_cast<int>(argv.size()), argv.data()),
              (std::vector<std::string>{"c=", "--", "", "-o", "--a=b=", "top"}));
    EXPECT_TRUE(command_line(app, {}).empty());
}

}  // namespace
}  // namespace tessera

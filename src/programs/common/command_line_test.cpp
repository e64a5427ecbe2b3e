#include "programs/common/command_line.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace tessera {
namespace {

// Goal: an empty value is the option's, and the word behind it is what it says. Method: through the
// library itself.
TEST(CommandLine, EmptyValues) {
    CLI::App app;
    std::string key = "unset";
    bool check = false;
    app.add_option("--key", key);
    app.add_flag("--check", check);
    const auto argv = std::to_array<const char*>({"program", "--key=", "--check"});
    app.parse(command_line(static_cast<int>(argv.size()), argv.data()));
    EXPECT_EQ(key, "");
    EXPECT_TRUE(check);
}

// Goal: kubectl's way of joining a short name and its value works, for a flag too. Method: through
// the library itself.
TEST(CommandLine, ShortNamesWithValues) {
    CLI::App app;
    std::string output;
    bool details = true;
    app.add_option("-o,--output", output);
    app.add_flag("-d,--details", details);
    const auto argv = std::to_array<const char*>({"program", "-o=json", "-d=false"});
    app.parse(command_line(static_cast<int>(argv.size()), argv.data()));
    EXPECT_EQ(output, "json");
    EXPECT_FALSE(details);
}

// Goal: all else is left as it is, the last word first.
TEST(CommandLine, OtherWords) {
    const auto argv =
        std::to_array<const char*>({"program", "top", "--a=b=", "-o", "", "--", "c="});
    EXPECT_EQ(command_line(static_cast<int>(argv.size()), argv.data()),
              (std::vector<std::string>{"c=", "--", "", "-o", "--a=b=", "top"}));
    EXPECT_TRUE(command_line(0, nullptr).empty());
}

}  // namespace
}  // namespace tessera

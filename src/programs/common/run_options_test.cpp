#include "programs/common/run_options.hpp"

#include <gtest/gtest.h>

#include "programs/common/command_line.hpp"

namespace tessera {
namespace {

RunOptions parsed(std::vector<std::string> arguments) {
    CLI::App app;
    RunOptions options;
    add_run_options(app, options);
    app.parse(command_line(app, std::move(arguments)));
    return options;
}

// Goal: tessera-run gets the options and words that the user gave to tessera.
TEST(RunOptions, RoundTrip) {
    const std::vector<std::string> given{"--memory=4Gi",
                                         "--cores=30",
                                         "--compute-limit=60",
                                         "--gpu=GPU-1",
                                         "--wait",
                                         "--quiet",
                                         "--state=/a b",
                                         "--driver-root=/x",
                                         "--guard-library=/g.so",
                                         "--",
                                         "python",
                                         "-c",
                                         "[1, 2]",
                                         "--memory=1",
                                         "--",
                                         ""};
    EXPECT_EQ(run_arguments(parsed(given)), given);
    const auto list = run_arguments(parsed({"--list", "-o=json"}));
    EXPECT_EQ(run_arguments(parsed(list)), list);
}

// Goal: each mistake has an error that names the option and the fix.
TEST(RunOptions, Mistakes) {
    struct Row {
        std::vector<std::string> arguments;
        std::string error;
    };
    const std::vector<Row> table{
        {{"--", "true"}, "--memory: missing; give the share's memory, such as --memory 4Gi"},
        {{"--memory=4Gi"},
         "no program; write it after --, such as: tessera run --memory 4Gi -- python train.py"},
        {{"--memory=4GB", "--", "true"}, "--memory: "},
        {{"--memory=4", "--", "true"},
         "--memory: \"4\" is less than 2Mi; write a unit, such as 4Gi"},
        {{"--memory=4Gi", "--cores=30", "--compute-limit=20", "--", "true"},
         "--compute-limit: 20 is below --cores 30; raise it, or leave it out"},
        {{"--list", "--", "true"}, "--list: starts no program; leave out the program and --memory"},
        {{"--memory=4Gi", "-o", "json", "--", "true"}, "--output: is for --list only"},
    };
    for (const Row& row : table) {
        const auto checked = check_run_options(parsed(row.arguments));
        ASSERT_FALSE(checked) << row.error;
        EXPECT_EQ(checked.error().code, Code::invalid_argument);
        EXPECT_EQ(checked.error().text.substr(0, row.error.size()), row.error);
    }
    EXPECT_TRUE(check_run_options(parsed({"--list"})));
    EXPECT_TRUE(check_run_options(parsed({"--memory=4Gi", "--", "true"})));
}

}  // namespace
}  // namespace tessera

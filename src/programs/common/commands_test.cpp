#include "programs/common/commands.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tessera {
namespace {

CommandRow serve_row() {
    return {.name = "tensorflow",
            .summary = "Serve",
            .example = "x serve tensorflow",
            .options = [](CLI::App& command) -> CommandRun {
                command.add_option("--name")->required();
                command.add_option("--gpumemory");
                command.add_option("-d,--data");
                return [] { return Result<int>(7); };
            },
            .aliases = {"tf"}};
}

// What the program says on stderr, and its exit status.
std::string said(const std::vector<const char*>& words) {
    const std::vector<CommandRow> rows{
        {.name = "serve", .summary = "Serve", .example = "x serve", .commands = {serve_row()}}};
    std::vector<std::string> texts{"x"};
    texts.insert(texts.end(), words.begin(), words.end());
    std::vector<char*> argv;
    argv.reserve(texts.size());
    for (std::string& text : texts)
        argv.push_back(text.data());
    testing::internal::CaptureStderr();
    const int status =
        run_commands({.name = "x", .description = "", .footer = "", .commands = rows},
                     static_cast<int>(argv.size()), argv.data());
    return testing::internal::GetCapturedStderr() + std::to_string(status);
}

TEST(Commands, NamesTheFlagThatWasMeant) {
    struct Case {
        const char* flag;
        const char* meant;
    };
    constexpr std::array<Case, 5> kCases{{{"--gpu-memory", "--gpumemory"},
                                          {"--gpuMemory=3", "--gpumemory"},
                                          {"--gpumemry", "--gpumemory"},
                                          {"--nmae", "--name"},
                                          {"--dat", "--data"}}};
    for (const Case& one : kCases) {
        const std::string flag(one.flag);
        EXPECT_EQ(said({"serve", "tensorflow", one.flag, "3"}),
                  "x: x serve tensorflow has no flag " + flag.substr(0, flag.find('=')) +
                      ": did you mean " + one.meant + "? See x serve tensorflow --help\n2");
    }
    EXPECT_NE(said({"serve", "tf", "--name=a", "--colour"}).find("not expected: --colour"),
              std::string::npos)
        << "no flag is like it";
    EXPECT_EQ(said({"serve", "tf", "--name=a"}), "7");
    EXPECT_EQ(said({"serv"}), "x: no command \"serv\"; there is serve\n2");
}

}  // namespace
}  // namespace tessera

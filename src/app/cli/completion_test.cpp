#include "app/cli/completion.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::vector<CommandWords> commands() {
    return {{"inspect",
             "Show a user's GPUs",
             {{.names = {"-h", "--help"}},
              {.names = {"-o", "--output"}, .takes_value = true, .values = {"json", "wide"}},
              {.names = {"--context"}, .takes_value = true},
              {.names = {"-k", "--key"}, .takes_value = true}}},
            {"migrate", "Move", {{.values = {"gpushare"}}, {.names = {}, .takes_value = true}}},
            {.name = "serve",
             .summary = "Serve",
             .commands = {{.name = "list",
                           .summary = "List",
                           .options = {{.names = {"-n"}, .takes_value = true}, {.names = {"-A"}}},
                           .aliases = {"ls"}},
                          {.name = "get", .summary = "Show"}}}};
}

std::string script_of(const char* shell) {
    const auto script = completion_script(shell, commands());
    EXPECT_TRUE(script) << shell;
    return script.value_or("");
}

void expect_has(const std::string& script, const std::string& text) {
    EXPECT_NE(script.find(text), std::string::npos) << text << "\n" << script;
}

// Goal: a command's options and the values of its arguments follow it. An option's values follow
// the option, also after "=", and nothing follows an option that accepts any text.
TEST(Completion, Bash) {
    const std::string script = script_of("bash");
    expect_has(script, "words=\"inspect migrate serve --help --version\"");
    expect_has(script, "\"inspect\") words=\"-h --help -o --output --context -k --key\" ;;");
    expect_has(script, "\"migrate\") words=\"gpushare\" ;;");
    expect_has(script, "\"serve\") words=\"list get\" ;;");
    expect_has(script, R"("serve list"|"serve ls") words="-n -A" ;;)");
    expect_has(script, R"("serve list -n"|"serve ls -n") words="" ;;)");
    expect_has(script, R"("inspect -o"|"inspect --output") words="json wide" ;;)");
    expect_has(script, R"("inspect --context"|"inspect -k"|"inspect --key") words="" ;;)");
    EXPECT_EQ(script.find("\"inspect --help\""), std::string::npos) << "a flag has no value";
    expect_has(script, "if [ \"$current\" = \"=\" ]");
    EXPECT_EQ(script_of("zsh"), "autoload -U +X bashcompinit && bashcompinit\n" + script);
}

TEST(Completion, Fish) {
    const std::string script = script_of("fish");
    expect_has(script, "-a inspect -d 'Show a user\\'s GPUs'\n");
    const std::string of_inspect = "complete -c tessera -n '__fish_seen_subcommand_from inspect' ";
    expect_has(script, of_inspect + "-s h -l help\n");
    expect_has(script, of_inspect + "-s o -l output -x -a 'json wide'\n");
    expect_has(script, of_inspect + "-l context -r\n");
    expect_has(script, "'__fish_seen_subcommand_from migrate' -a 'gpushare'\n");
    expect_has(
        script,
        "'__fish_seen_subcommand_from serve; and not __fish_seen_subcommand_from list ls get' "
        "-a list -d 'List'\n");
    expect_has(
        script,
        "'__fish_seen_subcommand_from serve; and __fish_seen_subcommand_from list ls' -s A\n");
}

// Goal: the error for another shell names those that there are.
TEST(Completion, OfAnotherShell) {
    const auto refused = completion_script("ksh", commands());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_EQ(refused.error().text, "no completion for \"ksh\"; there is bash zsh fish");
}

}  // namespace
}  // namespace tessera

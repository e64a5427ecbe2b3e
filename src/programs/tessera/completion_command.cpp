#include <iostream>

#include "app/cli/completion.hpp"
#include "programs/common/completion_words.hpp"
#include "programs/tessera/commands.hpp"

namespace tessera {

CommandRow completion_command() {
    return {"completion", "Print the completion script for a shell",
            "source <(tessera completion bash)", [](CLI::App& command) -> CommandRun {
                const auto shell = std::make_shared<std::string>();
                command.add_option("shell", *shell, "bash, zsh or fish")->required();
                return [shell, program = command.get_parent()]() -> Result<int> {
                    TRY(const std::string script,
                        completion_script(*shell, completion_words(*program)));
                    std::cout << script;
                    return 0;
                };
            }};
}

}  // namespace tessera

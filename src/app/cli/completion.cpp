#include "app/cli/completion.hpp"

#include <fmt/format.h>

namespace tessera {
namespace {

std::string bash(std::span<const CommandWords> commands) {
    std::string names;
    std::string cases;
    for (const CommandWords& command : commands) {
        names += (names.empty() ? "" : " ") + command.name;
        cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name, command.flags);
    }
    return fmt::format(R"(_tessera() {{
  local words="{}"
  case "${{COMP_WORDS[1]}}" in
{}  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{} --help --version"
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -F _tessera tessera kubectl-tessera
)",
                       names, cases, names);
}

std::string fish(std::span<const CommandWords> commands) {
    std::string out = "complete -c tessera -f\ncomplete -c kubectl-tessera -w tessera\n";
    for (const CommandWords& command : commands) {
        out += fmt::format("complete -c tessera -n __fish_use_subcommand -a {} -d '{}'\n",
                           command.name, command.summary);
    }
    return out;
}

}  // namespace

Result<std::string> completion_script(std::string_view shell,
                                      std::span<const CommandWords> commands) {
    if (shell == "bash") return bash(commands);
    if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash(commands);
    if (shell == "fish") return fish(commands);
    return fail(Code::invalid_argument,
                fmt::format("no completion for \"{}\"; there is {}", shell, kShells));
}

}  // namespace tessera

#include "app/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera {
namespace {

// What may follow the command: its options, and the values of its arguments.
std::string words_after(const CommandWords& command) {
    std::vector<std::string> words;
    for (const OptionWords& option : command.options) {
        const auto& added = option.names.empty() ? option.values : option.names;
        words.insert(words.end(), added.begin(), added.end());
    }
    return fmt::format("{}", fmt::join(words, " "));
}

// "COMMAND OPTION", for each name of the option.
void add_patterns(const CommandWords& command, const OptionWords& option,
                  std::vector<std::string>& out) {
    for (const std::string& name : option.names)
        out.push_back(fmt::format("\"{} {}\"", command.name, name));
}

// What may follow an option that takes a value. After one that takes any text, nothing is offered.
std::string bash_values(const CommandWords& command) {
    std::string out;
    std::vector<std::string> of_any_text;
    for (const OptionWords& option : command.options) {
        if (!option.takes_value || option.names.empty()) continue;
        if (option.values.empty()) {
            add_patterns(command, option, of_any_text);
            continue;
        }
        std::vector<std::string> patterns;
        add_patterns(command, option, patterns);
        out += fmt::format("    {}) words=\"{}\" ;;\n", fmt::join(patterns, "|"),
                           fmt::join(option.values, " "));
    }
    if (!of_any_text.empty())
        out += fmt::format("    {}) words=\"\" ;;\n", fmt::join(of_any_text, "|"));
    return out;
}

// Bash makes three words of --output=json.
std::string bash(std::span<const CommandWords> commands) {
    std::string names;
    std::string cases;
    std::string values;
    for (const CommandWords& command : commands) {
        names += (names.empty() ? "" : " ") + command.name;
        cases += fmt::format("    {}) words=\"{}\" ;;\n", command.name, words_after(command));
        values += bash_values(command);
    }
    return fmt::format(R"(_tessera() {{
  local words="{}"
  local current="${{COMP_WORDS[COMP_CWORD]}}" option="${{COMP_WORDS[COMP_CWORD-1]}}"
  if [ "$current" = "=" ]; then
    current=""
  elif [ "$option" = "=" ]; then
    option="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "${{COMP_WORDS[1]}} $option" in
{}  esac
  [ "$COMP_CWORD" -eq 1 ] && words="{} --help --version"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _tessera tessera kubectl-tessera
)",
                       names, cases, values, names);
}

// The text between single quotes.
std::string fish_quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string fish_option(const CommandWords& command, const OptionWords& option) {
    std::string out =
        fmt::format("complete -c tessera -n '__fish_seen_subcommand_from {}'", command.name);
    for (const std::string& name : option.names) {
        const bool is_long = name.starts_with("--");
        out += is_long ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!option.values.empty()) {
        out += fmt::format("{} -a '{}'", option.names.empty() ? "" : " -x",
                           fmt::join(option.values, " "));
    } else if (option.takes_value) {
        out += " -r";
    }
    return out + "\n";
}

std::string fish(std::span<const CommandWords> commands) {
    std::string out = "complete -c tessera -f\ncomplete -c kubectl-tessera -w tessera\n";
    for (const CommandWords& command : commands) {
        out += fmt::format("complete -c tessera -n __fish_use_subcommand -a {} -d {}\n",
                           command.name, fish_quoted(command.summary));
        for (const OptionWords& option : command.options) {
            const bool is_any_argument = option.names.empty() && option.values.empty();
            if (!is_any_argument) out += fish_option(command, option);
        }
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

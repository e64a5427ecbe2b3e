#include "app/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace tessera {
namespace {

// A command with the whole of its name: "serve list".
struct NamedCommand {
    std::vector<std::string> names;  // the first, and those with an alias
    const CommandWords* words = nullptr;
};

void add_named(std::span<const CommandWords> commands, const std::string& group,
               std::vector<NamedCommand>& out) {
    for (const CommandWords& command : commands) {
        NamedCommand named{{group + command.name}, &command};
        for (const std::string& alias : command.aliases)
            named.names.push_back(group + alias);
        out.push_back(named);
        add_named(command.commands, named.names.front() + " ", out);
    }
}

// All commands, groups before their commands.
std::vector<NamedCommand> named_commands(std::span<const CommandWords> commands) {
    std::vector<NamedCommand> out;
    add_named(commands, "", out);
    return out;
}

// What may follow the command: the commands of a group, its options, and the values of its
// arguments.
std::string words_after(const CommandWords& command) {
    std::vector<std::string> words;
    std::ranges::transform(command.commands, std::back_inserter(words), &CommandWords::name);
    for (const OptionWords& option : command.options) {
        const auto& added = option.names.empty() ? option.values : option.names;
        words.insert(words.end(), added.begin(), added.end());
    }
    return fmt::format("{}", fmt::join(words, " "));
}

// "serve list"|"serve ls"
std::string bash_pattern(const NamedCommand& command) {
    std::string out;
    for (const std::string& name : command.names)
        out += fmt::format("{}\"{}\"", out.empty() ? "" : "|", name);
    return out;
}

// "COMMAND OPTION", for each name of both.
void add_patterns(const NamedCommand& command, const OptionWords& option,
                  std::vector<std::string>& out) {
    for (const std::string& whole : command.names) {
        for (const std::string& name : option.names)
            out.push_back(fmt::format("\"{} {}\"", whole, name));
    }
}

// What may follow an option that takes a value. After one that takes any text, nothing is offered.
std::string bash_values(const NamedCommand& command) {
    std::string out;
    std::vector<std::string> of_any_text;
    for (const OptionWords& option : command.words->options) {
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
    std::vector<std::string> names;
    for (const CommandWords& command : commands)
        names.push_back(command.name);
    std::string groups = "\"\"";  // no command
    std::string cases;
    std::string values;
    for (const NamedCommand& command : named_commands(commands)) {
        if (!command.words->commands.empty()) groups += "|" + bash_pattern(command);
        cases += fmt::format("    {}) words=\"{}\" ;;\n", bash_pattern(command),
                             words_after(*command.words));
        values += bash_values(command);
    }
    return fmt::format(R"(_tessera() {{
  local words="{0} --help --version" command="" at=1
  local current="${{COMP_WORDS[COMP_CWORD]}}" option="${{COMP_WORDS[COMP_CWORD-1]}}"
  if [ "$current" = "=" ]; then
    current=""
  elif [ "$option" = "=" ]; then
    option="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case "$command" in
    {1}) command="${{command:+$command }}${{COMP_WORDS[at]}}"; at=$((at+1)) ;;
    *) break ;;
    esac
  done
  case "$command" in
{2}  esac
  case "$command $option" in
{3}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -F _tessera tessera kubectl-tessera
)",
                       fmt::join(names, " "), groups, cases, values);
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

// The condition that the command line has this command, whose whole name may have several words.
std::string fish_condition(const NamedCommand& command) {
    std::string out;
    for (std::size_t end = 0; end != std::string::npos;) {
        const std::string& name = command.names.front();
        const std::size_t begin = end == 0 ? 0 : end + 1;
        end = name.find(' ', begin);
        std::string word = name.substr(begin, end - begin);
        if (end == std::string::npos) {
            for (const std::string& alias : command.words->aliases)
                word += " " + alias;
        }
        out += fmt::format("{}__fish_seen_subcommand_from {}", out.empty() ? "" : "; and ", word);
    }
    return out;
}

std::string fish_option(const NamedCommand& command, const OptionWords& option) {
    std::string out = fmt::format("complete -c tessera -n '{}'", fish_condition(command));
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

// The commands of a group, as long as none of them is there.
std::string fish_group(const NamedCommand& group) {
    std::string names;
    for (const CommandWords& command : group.words->commands) {
        names += " " + command.name;
        for (const std::string& alias : command.aliases)
            names += " " + alias;
    }
    std::string out;
    for (const CommandWords& command : group.words->commands) {
        out += fmt::format(
            "complete -c tessera -n '{}; and not __fish_seen_subcommand_from{}' -a {} -d {}\n",
            fish_condition(group), names, command.name, fish_quoted(command.summary));
    }
    return out;
}

std::string fish(std::span<const CommandWords> commands) {
    std::string out = "complete -c tessera -f\ncomplete -c kubectl-tessera -w tessera\n";
    for (const CommandWords& command : commands) {
        out += fmt::format("complete -c tessera -n __fish_use_subcommand -a {} -d {}\n",
                           command.name, fish_quoted(command.summary));
    }
    for (const NamedCommand& command : named_commands(commands)) {
        out += fish_group(command);
        for (const OptionWords& option : command.words->options) {
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

// The command line as words for CLI11, and the help text on exit statuses.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace tessera {

// Returns the arguments, the last word first, as CLI::App::parse of `app` expects. CLI11 would take
// the word after `--option=` for its value, so an empty value becomes a word of its own. `-o=json`,
// which kubectl accepts, becomes `--output=json`, by the options of the command that the line
// names. Words after "--" stay unchanged, for an option of add_words(). The namespace and the
// cluster may precede the command, as kubectl and Arena accept them: "-n team serve list".
std::vector<std::string> command_line(const CLI::App& app, std::vector<std::string> arguments);
// The same; `argv` begins with the program's name.
std::vector<std::string> command_line(const CLI::App& app, int argc, const char* const* argv);

// Adds a positional option for the words of another program's command line, which follow "--".
void add_words(CLI::App& command, std::vector<std::string>& words, const std::string& help);

// For CLI::App::failure_message: an error of the command line as "PROGRAM: text", as all errors are
// printed, and how to get help.
std::function<std::string(const CLI::App*, const CLI::Error&)> failure_message_of(
    std::string program);

// The last line of a help text.
std::string exit_statuses();

}  // namespace tessera

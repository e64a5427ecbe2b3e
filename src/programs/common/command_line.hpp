// The command line as words for CLI11, and the help text on exit statuses.
#pragma once

#include <string>
#include <vector>

namespace tessera {

// Returns the arguments without the program's name, the last word first, as CLI::App::parse
// expects. CLI11 would take the word after `--option=` for its value, so an empty value becomes a
// word of its own. `-o=json`, which kubectl accepts, becomes `--output=json`.
std::vector<std::string> command_line(int argc, const char* const* argv);

// The last line of a help text.
std::string exit_statuses();

}  // namespace tessera

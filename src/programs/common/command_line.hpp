// The command line as words for CLI11, and what its help says of exit statuses.
#pragma once

#include <string>
#include <vector>

namespace tessera {

// Without the program's name, the last word first, as CLI::App::parse wants them. The library would
// take the word after `--option=` for its value: an empty value is made a word of its own.
// `-o=json`, as kubectl takes it, is written out as `--output=json`.
std::vector<std::string> command_line(int argc, const char* const* argv);

// For the end of a help text.
std::string exit_statuses();

}  // namespace tessera

// The words that complete after each command of a program: its options, in the order in which they
// were added, and the values of those that accept only some.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/cli/completion.hpp"

namespace tessera {

std::vector<CommandWords> completion_words(const CLI::App& app);

}  // namespace tessera

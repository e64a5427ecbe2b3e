// Shell completion scripts, generated from the program's commands.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// An option, or an argument, which has no names.
struct OptionWords {
    std::vector<std::string> names;   // "-o", "--output"
    bool takes_value = false;         // false: a flag
    std::vector<std::string> values;  // all values that it accepts; empty: any text
};

struct CommandWords {
    std::string name;
    std::string summary;
    std::vector<OptionWords> options = {};
    std::vector<CommandWords> commands = {};  // of a group of commands
    std::vector<std::string> aliases = {};    // other names
};

inline constexpr std::string_view kShells = "bash zsh fish";

// `shell` is one of kShells; for any other, invalid_argument lists them.
Result<std::string> completion_script(std::string_view shell,
                                      std::span<const CommandWords> commands);

}  // namespace tessera

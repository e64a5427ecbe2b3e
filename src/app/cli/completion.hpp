// Shell completion scripts, generated from the program's commands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct CommandWords {
    std::string name;
    std::string summary;
    std::string flags;  // separated by spaces
};

inline constexpr std::string_view kShells = "bash zsh fish";

// `shell` is one of kShells; for any other, invalid_argument lists them.
Result<std::string> completion_script(std::string_view shell,
                                      std::span<const CommandWords> commands);

}  // namespace tessera

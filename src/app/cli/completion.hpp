// Shell completion, made from the commands that the program has.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct CommandWords {
    std::string name;
    std::string summary;
    std::string flags;  // space-separated
};

inline constexpr std::string_view kShells = "bash zsh fish";

// `shell` is one of kShells; invalid_argument names them.
Result<std::string> completion_script(std::string_view shell,
                                      std::span<const CommandWords> commands);

}  // namespace tessera

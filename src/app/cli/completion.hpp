// Shell completion, made from the table of commands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

struct CommandWords {
    std::string_view name;
    std::string_view summary;
    std::string_view flags;  // space-separated
};

// `shell` is bash, zsh or fish; invalid_argument names them.
Result<std::string> completion_script(std::string_view shell,
                                      std::span<const CommandWords> commands);

}  // namespace tessera

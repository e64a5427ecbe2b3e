// Runs another program and reads its output.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace tessera {

struct Command {
    std::string program;  // a path, or a name that is looked for in PATH
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;  // in addition to our own
    // It reads our standard input, to ask the user; otherwise it has none, or `input`.
    bool interactive = false;
    std::optional<std::string> input = {};  // at most 32 KiB
    // What it writes to standard error belongs to the output, and a failure's text has the last
    // line.
    bool errors_in_output = false;
    std::optional<std::chrono::seconds> deadline;   // then it is killed; nothing: it has none
    std::size_t most_bytes = std::size_t{1} << 20;  // of output
};

// What it wrote to standard output; standard error is ours, unless errors_in_output says otherwise.
// Errors: not_found if there is no such program, unavailable with its exit status, unavailable
// after the deadline.
Result<std::string> run_command(const Command& command);

}  // namespace tessera

// The part of main() that the daemons share: flags, --version, --check-config, --print-config,
// SIGTERM and SIGINT, a log event when the program stops or fails, and the exit status. A program
// supplies its table of configuration rows and a function to run.
#pragma once

#include <functional>
#include <span>
#include <stop_token>
#include <string_view>

#include "base/result.hpp"
#include "programs/common/config.hpp"

namespace tessera {

struct ProgramInfo {
    std::string_view name;
    std::string_view summary;
    std::span<const ConfigRow> rows;  // controller.def or agent.def
};

// Reads the configuration, checks with `check` whether the values are valid together, and runs
// `body`. SIGTERM and SIGINT stop the body's token; then it must return. Returns the exit status:
// 0; 2 if the flags cannot be parsed; 78 (EX_CONFIG) if the configuration is invalid; or
// exit_status() of the body's error. With --check-config or --print-config the body does not run.
int run_program(const ProgramInfo& info, int argc, char** argv,
                const std::function<Result<>(const ConfigValues&)>& check,
                const std::function<Result<>(const ConfigValues&, const std::stop_token&)>& body);

}  // namespace tessera

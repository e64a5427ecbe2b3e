// What the daemons have in common: flags, --version, --check-config, --print-config, signals,
// logging of the end, exit statuses. A program supplies its table and its body.
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
    std::span<const ConfigRow> rows;
};

// `body` runs until SIGTERM or SIGINT stops the token. `check` says whether the values make sense
// together. Returns the exit status: 0, 2 for wrong flags, 78 for a refused configuration, or the
// status of the body's error.
int run_program(const ProgramInfo& info, int argc, char** argv,
                const std::function<Result<>(const ConfigValues&)>& check,
                const std::function<Result<>(const ConfigValues&, const std::stop_token&)>& body);

}  // namespace tessera

// The environment of a run's program. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/run/run_lease.hpp"

namespace tessera {

// The variable with the id of the run.
inline constexpr std::string_view kRunVariable = "TESSERA_RUN";

// `environment` has NAME=VALUE texts, of the caller. The result also has the variables of a
// container with this share, and loads the guard from `library` before the caller's own libraries.
// The GPU is device 0. Values of the caller for these variables are replaced.
std::vector<std::string> run_environment(std::vector<std::string> environment, std::string_view run,
                                         const RunLease& lease, std::string_view library);

}  // namespace tessera

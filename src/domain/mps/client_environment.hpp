// The environment by which a container's programs become clients of NVIDIA MPS, with the
// container's limits (docs.nvidia.com/deploy/mps, "Environment Variables").
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "domain/mps/mps_grant.hpp"

namespace tessera {

// The folder of the control daemon's pipe in a container.
inline constexpr std::string_view kMpsPipesInContainer = "/usr/local/tessera/mps";

// The program that says what a process of the container gets; `tessera mps verify` runs it.
inline constexpr std::string_view kMpsProbeInContainer = "/usr/local/tessera/tessera-mps-probe";

std::vector<std::pair<std::string, std::string>> mps_client_env(const MpsGrant& grant);

// A container may set no variable of MPS itself: they could lead its programs to another daemon, or
// void its memory limit. `env`: NAME=value. invalid_argument names the variable.
Result<> check_mps_env(std::string_view container, std::span<const std::string> env);

}  // namespace tessera

// The agent's record of the limits that the driver has for a container's memory
// (adapters/memory_limits/driver_enforcer.hpp):
//     {"version":1,"cgroup":"/sys/fs/cgroup/kubepods/…","limits":[{"gpu":"GPU-…",
//      "memoryBytes":3221225472}]}
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/container_start/memory_limits.hpp"

namespace tessera {

inline constexpr int kMemoryLimitsVersion = 1;
// The longest record that is read; those that are written are shorter.
inline constexpr std::size_t kMostMemoryLimitsBytes = std::size_t{64} << 10;

std::string write_memory_limits(const ContainerMemoryLimits& limits);
// The error names the field: invalid_argument for broken text, unsupported for a newer version.
Result<ContainerMemoryLimits> read_memory_limits(std::string_view text);

}  // namespace tessera

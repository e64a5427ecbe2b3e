// The processes of a cgroup, from its folder (cgroup.procs, cgroups(7)).
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.hpp"

namespace tessera {

// Whether the process is in the cgroup or in one below. conflict if not, and unavailable if the
// folder cannot be read; both name it.
Result<> check_process_in(const std::filesystem::path& cgroup, std::int64_t pid);

// In it or in one below. False if the folder is gone, and true if it cannot be read.
bool has_processes(const std::filesystem::path& cgroup);

}  // namespace tessera

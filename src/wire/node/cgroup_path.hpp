// The folder of a container's cgroup, from OCI's linux.cgroupsPath as runtimes write it:
// "/kubepods/burstable/podUID/ID" with the cgroupfs driver, "SLICE:PREFIX:NAME" with systemd's.
// Source: the OCI runtime specification (config-linux.md), systemd.slice(5) and systemd.scope(5).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// Relative to the root of the cgroups, without a slash at its ends, never empty, and never with "."
// or "..". invalid_argument quotes a text that is no such path.
Result<std::string> cgroup_folder_of(std::string_view cgroups_path);

}  // namespace tessera

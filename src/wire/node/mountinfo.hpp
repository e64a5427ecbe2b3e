// /proc/PID/mountinfo (proc(5)): the mounts of a process's namespace. Reading it needs no right
// other than seeing the process.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/container_start/mount_table.hpp"

namespace tessera {

// invalid_argument, with the number of the line, if a line has an unknown format.
Result<std::vector<MountEntry>> read_mountinfo(std::string_view text);

}  // namespace tessera

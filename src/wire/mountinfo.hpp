// /proc/PID/mountinfo (proc(5)): the mounts of a process's namespace. Which process may be read
// needs no right beyond seeing it.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "domain/handover/mount_table.hpp"

namespace tessera {

// invalid_argument, with the number of the line, where a line is of another form.
Result<std::vector<MountEntry>> read_mountinfo(std::string_view text);

}  // namespace tessera

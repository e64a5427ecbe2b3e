// The daemon's files in the pipe directory: `control` and `control_privileged` (sockets),
// `control_lock`, `log` (FIFO) and, since driver 550, `nvidia-cuda-mps-control.pid`. A daemon that
// dies leaves all of them; one that quits leaves the sockets and the lock file.
#pragma once

#include "gpusim/mps/commands.hpp"

namespace gpusim::mps {

struct PipeDirectory {
    const char* path = nullptr;
    int lock_fd = -1;  // POSIX lock of the whole file while the daemon lives; never opened again
    int control_fd = -1;
    int privileged_fd = -1;
};

enum class Claim { made, not_accessible, already_running };

// Makes the directory if needed, takes its lock, and replaces what a dead daemon left.
Claim claim(PipeDirectory& directory, const char* path, Version version);

// What `quit` does: the next daemon can start at once.
void release(PipeDirectory& directory);

}  // namespace gpusim::mps

// How the daemon starts and ends nvidia-cuda-mps-server.
//
// A server has one end of a socket pair as descriptor kServerChannel. It sends a ServerReady when
// it is ready, and receives an EndedClient for each client that the daemon ends. It ends when the
// other end is closed: by shutdown_server or quit, or because the daemon died.
#pragma once

#include <sys/types.h>

#include "gpusim/mps/log.hpp"

namespace gpusim::mps {

inline constexpr int kServerChannel = 3;

struct ServerProcess {
    pid_t pid = 0;
    int channel = -1;  // non-blocking
};

struct ServerPlan {
    uid_t uid = 0;
    int output_fd = -1;  // its stdout; -1: the daemon's
};

// Starts the program `nvidia-cuda-mps-server` in the folder of the daemon's own program. On failure
// pid is -1.
ServerProcess start_server_process(const ServerPlan& plan, const Log& log);

}  // namespace gpusim::mps

// The client of tessera-mpi-shell: what mpirun starts in place of ssh.
#pragma once

#include <chrono>
#include <string>

#include "base/result.hpp"

namespace tessera {

struct ShellCall {
    std::string host;
    int port = 0;
    std::string secret;
    std::string command;
    // For how long to try again while the worker cannot be reached.
    std::chrono::seconds patience{60};
};

// Runs the command on the host, with the standard files of this process, and returns its exit
// status. If this process ends before, the command is ended. Errors: unavailable, permission_denied
// if the worker has another secret. They name the host.
Result<int> call_shell(const ShellCall& call);

}  // namespace tessera

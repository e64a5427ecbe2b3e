// A command that a shell runs, with pipes to its standard files.
#pragma once

#include <sys/types.h>

#include <string>

#include "adapters/os/descriptor.hpp"
#include "base/result.hpp"

namespace tessera {

struct ShellChild {
    pid_t pid = 0;  // also of its session and process group
    // Our ends of the pipes, which do not block; below 0: closed.
    Descriptor input{-1};
    Descriptor output{-1};
    Descriptor errors{-1};

    // Runs `/bin/sh -c COMMAND` in the environment and the folder of this process. unavailable,
    // with the reason.
    Result<> start(const std::string& command);
};

// The exit status as shells count it: 128 and the signal if one ended the process.
int shell_status(int wait_status);

}  // namespace tessera

// The supervisor of a run (run_processes.hpp).
#pragma once

#include <sys/types.h>

#include <csignal>

#include "adapters/run/run_processes.hpp"

namespace tessera {

// From the supervisor, one message each: the program's pid, then how it ended.
struct SupervisorMessage {
    pid_t program = 0;
    int exit_status = 0;
    bool others_live = false;
    RunUse use;
};

// The supervisor's ends of what connects the processes.
struct SupervisorEnds {
    int messages;  // to tessera-run
    int begin;     // the program reads a byte before it starts; without one it ends
    int failure;   // the program writes an errno if it cannot be executed
};

// The body of the supervisor, in a process that was forked for it. It never returns.
// `program_mask` are the signals that the program has blocked.
[[noreturn]] void supervise(const RunProgram& program, const RunFolder& folder, const NewRun& run,
                            const SupervisorEnds& ends, const sigset_t& program_mask);

}  // namespace tessera

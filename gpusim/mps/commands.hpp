// The commands of nvidia-cuda-mps-control, and what each answers. Pure: a command changes settings
// and says what the daemon must do to processes. Contract: docs/research/mps-580.md, golden/, and
// the comments of the table in commands.cpp.
#pragma once

#include "gpusim/mps/answer.hpp"
#include "gpusim/mps/clients.hpp"
#include "gpusim/mps/settings.hpp"

namespace gpusim::mps {

// The driver whose programs are simulated, by its major version.
enum class Version { v535 = 535, v550 = 550 };

struct Control {
    Version version = Version::v550;
    Settings defaults;
    Servers servers;
    Clients clients;
};

// The sender of a command: its user, and whether it came through `control_privileged`.
struct Caller {
    uid_t uid = 0;
    bool privileged = false;
};

enum class Action {
    none,
    start_server,
    shutdown_server,  // when its clients have left
    kill_server,      // shutdown_server -f: at once
    terminate_client,
    quit
};

struct Outcome {
    Action action = Action::none;
    uid_t uid = 0;       // of start_server
    pid_t pid = 0;       // the server of shutdown_server and terminate_client
    pid_t client = 0;    // of terminate_client
    int timeout_s = -1;  // of quit; -1: none
    // What the log says beyond the answer, or null.
    const char* note = nullptr;
};

// Runs one line. The words in `line` are cut apart in place. The answer is appended.
Outcome execute(Control& control, const Caller& caller, char* line, Answer& answer);

}  // namespace gpusim::mps

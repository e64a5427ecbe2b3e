// What tessera-run does.
#pragma once

namespace tessera {

// Starts a run, or lists the runs. Returns the exit status: that of the program; 127 if there is no
// such program, 126 if it cannot be executed; 2 for wrong usage, that of the error code for another
// error.
int run_locally(int argc, char** argv);

}  // namespace tessera

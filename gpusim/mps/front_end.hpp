// The front end of nvidia-cuda-mps-control: commands from stdin, answers to stdout.
#pragma once

namespace gpusim::mps {

// Returns the exit status: 0 also after refused commands. It waits for answers without a limit.
int run_front_end();

}  // namespace gpusim::mps

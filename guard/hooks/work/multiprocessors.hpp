// Refuses contexts of a process to which NVIDIA MPS gives more of a GPU's multiprocessors than its
// container may have. MPS limits each process by a variable of its environment, which the program
// can change or remove; it then has the limit of the control daemon, which is that of the GPU's
// largest container.
#pragma once

#include "api/nvidia/cuda.h"

namespace tessera::guard {

// Right after a context of that GPU was created: CUDA_ERROR_NOT_PERMITTED if it must not be used.
// That is counted, and reported on stderr once per process. Also the driver's error, if it does not
// say how many multiprocessors the process has.
CUresult check_multiprocessors(int gpu);

}  // namespace tessera::guard

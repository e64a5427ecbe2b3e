// What a context takes of its GPU beyond its overhead: for the stacks of its threads, for kernels'
// printf, and for the heap that they allocate from. Requires a Session.
#pragma once

#include "gpusim/cuda/driver/driver.hpp"

namespace gpusim {

// Each of a kernel's threads needs this much local memory: a smaller stack grows to that, and
// stays. CUDA_ERROR_OUT_OF_MEMORY if the GPU does not have that much left.
CUresult grow_stack(Context& context, std::size_t bytes);
// Releases what the limits took, and sets them to their initial values.
void reset_limits(Context& context);

}  // namespace gpusim

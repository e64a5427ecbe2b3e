// What a context takes of its card beyond its overhead: for the stacks of its threads, what kernels
// print, and the heap that they allocate from. Wants a Session.
#pragma once

#include "gpusim/cuda/driver/driver.hpp"

namespace gpusim {

// A kernel's threads need so much local memory each: a smaller stack grows to that, and stays so.
// CUDA_ERROR_OUT_OF_MEMORY where the card has not that much left.
CUresult grow_stack(Context& context, std::size_t bytes);
// Gives back what the limits took, and sets them as they began.
void reset_limits(Context& context);

}  // namespace gpusim

// What a context takes of its card beyond its overhead: for the stacks of its threads, what kernels
// print, and the heap that they allocate from. Wants a Session.
#pragma once

#include "gpusim/cuda/driver/driver.hpp"

namespace gpusim {

// Gives back what the limits took, and sets them as they began.
void reset_limits(Context& context);

}  // namespace gpusim

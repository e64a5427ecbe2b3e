// The clock as the kernel tells it. A program may have a clock_gettime of its own, to shift or slow
// its time (libfaketime): nobody's turn is to come sooner, or never, by that.
#pragma once

#include "guard/region/clock.hpp"

namespace tessera::guard {

ReadClock kernel_clock();

}  // namespace tessera::guard

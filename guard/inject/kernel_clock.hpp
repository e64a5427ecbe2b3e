// The kernel's clock. A program may have a clock_gettime of its own, to shift or slow its time
// (libfaketime). That must not give any process a launch permit earlier, or never.
#pragma once

#include "guard/region/clock.hpp"

namespace tessera::guard {

ReadClock kernel_clock();

}  // namespace tessera::guard

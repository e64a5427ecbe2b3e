// Managed memory. It takes nothing of the GPU when it is allocated: an allocation unit moves to the
// GPU when the device first uses it, and stays in host memory while the GPU has no room for it.
#pragma once

#include <cstddef>

#include "api/nvidia/cuda.h"

namespace gpusim {

// Reports that the device uses these bytes. Does nothing for memory that is not managed. Requires a
// Session.
void touch_managed(CUdeviceptr pointer, std::size_t bytes);

}  // namespace gpusim

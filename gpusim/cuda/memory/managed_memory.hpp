// Managed memory. It takes nothing of the card when it is allocated: a granule moves to the card
// when the device first uses it, and stays with the host while the card has no room for it.
#pragma once

#include <cstddef>

#include "api/nvidia/cuda.h"

namespace gpusim {

// Says that the device uses these bytes. Does nothing for memory that is not managed. Wants a
// Session.
void touch_managed(CUdeviceptr pointer, std::size_t bytes);

}  // namespace gpusim

// Virtual memory: reservations of addresses, and what is mapped into them. Neither belongs to a
// context. Every function requires a Session.
#pragma once

#include "api/nvidia/cuda.h"
#include "gpusim/cuda/virtual_memory/physical_memory.hpp"

namespace gpusim {

// True for an address that a program has reserved, whether or not something is mapped there.
bool is_reserved(CUdeviceptr pointer);

// What is mapped at `pointer`; null if nothing is.
Physical* mapped_at(CUdeviceptr pointer);

}  // namespace gpusim

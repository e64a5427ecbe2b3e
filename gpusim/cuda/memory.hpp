// Device memory, for those who put something into it. All functions want a Session.
#pragma once

#include "gpusim/cuda/driver.hpp"

namespace gpusim {

enum class Side { device, either };  // either: a host address will do

// A CUdeviceptr is an integer by the ABI, whatever that costs the optimizer.
inline void* address(CUdeviceptr pointer) {
    return reinterpret_cast<void*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

bool is_device_memory(CUdeviceptr pointer);
bool is_reachable(CUdeviceptr pointer, std::size_t bytes, Side side);

// As cuMemAlloc and cuMemFree.
CUresult allocate_memory(Context& context, std::size_t bytes, CUdeviceptr* pointer);
CUresult free_memory(CUdeviceptr pointer);

}  // namespace gpusim

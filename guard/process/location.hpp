// Where the memory of a location is: on a device or the host. Source: cuda.h of CUDA 13.5.
#pragma once

#include "api/nvidia/cuda.h"

namespace tessera::guard {

struct MemoryPlace {
    enum class Kind { device, host, unknown };

    Kind kind;
    CUdevice device;  // only for a device
};

// A location type that is in no CUDA version that we know is not treated as the host's.
inline MemoryPlace place_of(const CUmemLocation& location) {
    switch (location.type) {
        case CU_MEM_LOCATION_TYPE_DEVICE:
            return {MemoryPlace::Kind::device, location.id};
        case CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN:
            return {MemoryPlace::Kind::device, location.id & 0xff};
        case CU_MEM_LOCATION_TYPE_HOST:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            return {MemoryPlace::Kind::host, -1};
        default:
            return {MemoryPlace::Kind::unknown, -1};
    }
}

// The GPU that is charged for memory at this place: kNoGpu for host memory, -1 if the container has
// no share of the GPU. For an unknown place it is the current context's GPU, or the container's
// first.
inline constexpr int kNoGpu = -2;
int gpu_at(const MemoryPlace& place);
// The same for a pool. Managed memory is charged in full to one GPU, wherever its pages are: to
// that of its preferred device, or as for an unknown place.
int gpu_of_pool_at(const CUmemLocation& location, CUmemAllocationType type);

}  // namespace tessera::guard

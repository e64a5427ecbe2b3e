#include "guard/process/location.hpp"

#include "guard/process/devices.hpp"

namespace tessera::guard {

int gpu_at(const MemoryPlace& place) {
    switch (place.kind) {
        case MemoryPlace::Kind::device:
            return gpu_of(place.device);
        case MemoryPlace::Kind::host:
            return kNoGpu;
        case MemoryPlace::Kind::unknown:
            break;
    }
    Current current;
    if (find_current(current) == CUDA_SUCCESS) return current.gpu;
    for (CUdevice device = 0; device < kMaxDevices; device++)
        if (const int gpu = gpu_of(device); gpu >= 0) return gpu;
    return -1;
}

int gpu_of_pool_at(const CUmemLocation& location, CUmemAllocationType type) {
    MemoryPlace place = place_of(location);
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED && place.kind == MemoryPlace::Kind::host)
        place.kind = MemoryPlace::Kind::unknown;
    return gpu_at(place);
}

}  // namespace tessera::guard

#include "guard/process/location.hpp"

#include "guard/process/devices.hpp"

namespace tessera::guard {

int card_at(const MemoryPlace& place) {
    switch (place.kind) {
        case MemoryPlace::Kind::device:
            return card_of(place.device);
        case MemoryPlace::Kind::host:
            return kNoCard;
        case MemoryPlace::Kind::unknown:
            break;
    }
    Current current;
    if (find_current(current) == CUDA_SUCCESS) return current.card;
    for (CUdevice device = 0; device < kMaxDevices; device++)
        if (const int card = card_of(device); card >= 0) return card;
    return -1;
}

int card_of_pool_at(const CUmemLocation& location, CUmemAllocationType type) {
    MemoryPlace place = place_of(location);
    if (type == CU_MEM_ALLOCATION_TYPE_MANAGED && place.kind == MemoryPlace::Kind::host)
        place.kind = MemoryPlace::Kind::unknown;
    return card_at(place);
}

}  // namespace tessera::guard

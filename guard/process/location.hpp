// Whose memory a location is of. Source: cuda.h of CUDA 13.5.
#pragma once

#include "api/nvidia/cuda.h"

namespace tessera::guard {

struct MemoryPlace {
    enum class Kind { device, host, unknown };

    Kind kind;
    CUdevice device;  // of a device alone
};

// What no version of CUDA that we know of has is not taken for the host's.
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

// The card that memory at such a place counts on: kNoCard for the host's, -1 where the container
// has no share of the card. Of an unknown place it is the current context's, or the container's
// first.
inline constexpr int kNoCard = -2;
int card_at(const MemoryPlace& place);
// The same of a pool. Managed memory counts in full on a card, wherever its pages are: that of the
// device that it prefers, or as an unknown place.
int card_of_pool_at(const CUmemLocation& location, CUmemAllocationType type);

}  // namespace tessera::guard

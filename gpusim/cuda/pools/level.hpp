// What a pool has, now and at most.
#pragma once

#include <cstdint>

#include "api/nvidia/cuda.h"

namespace gpusim {

struct Level {
    std::uint64_t now;
    std::uint64_t high;
};

inline void raise(Level& level, std::uint64_t bytes) {
    level.now += bytes;
    if (level.now > level.high) level.high = level.now;
}

// A high mark may only be set to 0, which resets it to the current value.
inline CUresult set_high(Level& level, std::uint64_t value) {
    if (value != 0) return CUDA_ERROR_INVALID_VALUE;
    level.high = level.now;
    return CUDA_SUCCESS;
}

}  // namespace gpusim

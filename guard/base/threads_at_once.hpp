// How many threads a GPU runs at once: a context has a stack for each of them.
#pragma once

#include <cstdint>

#include "api/nvidia/cuda.h"

namespace tessera::guard {

// `ask` is cuDeviceGetAttribute or null. 0 if it does not report the numbers.
template <typename Ask>
std::uint64_t threads_at_once(const Ask& ask, CUdevice device) {
    int multiprocessors = 0;
    int threads = 0;
    if (!ask ||
        ask(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) != CUDA_SUCCESS ||
        ask(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device) != CUDA_SUCCESS ||
        multiprocessors <= 0 || threads <= 0)
        return 0;
    return static_cast<std::uint64_t>(multiprocessors) * static_cast<std::uint64_t>(threads);
}

}  // namespace tessera::guard

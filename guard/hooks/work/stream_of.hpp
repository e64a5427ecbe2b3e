// Which stream a call means.
#pragma once

#include "api/nvidia/cuda.h"

namespace tessera::guard {

// What a null stream means in the per-thread variants of calls (api/nvidia/cuda_work.h).
inline CUstream of_thread(CUstream stream) {
    return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace tessera::guard

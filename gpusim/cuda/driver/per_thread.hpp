// Calls whose null stream is the default stream of the calling thread (_ptsz).
#pragma once

#include "api/nvidia/cuda.h"

namespace gpusim {

inline CUstream of_thread(CUstream stream) {
    return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace gpusim

// The twin of a call that takes a stream.
#define PER_THREAD(name, parameters, arguments) \
    CUresult name##_ptsz parameters {           \
        return name arguments;                  \
    }

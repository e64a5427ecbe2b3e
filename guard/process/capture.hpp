// Streams that are being captured.
#pragma once

#include "guard/process/process.hpp"

namespace tessera::guard {

// Whether what is given to the stream is recorded, and not done. A stream that cannot be asked is
// taken for one: nothing may be asked of it.
inline bool is_capturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const auto& ask = driver()->cuStreamIsCapturing;
    return ask && (ask(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE);
}

}  // namespace tessera::guard

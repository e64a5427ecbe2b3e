// Streams that are being captured.
#pragma once

#include "guard/process/process.hpp"

namespace tessera::guard {

// Whether work given to the stream is recorded and not executed. If the driver cannot say so of a
// stream, it counts as captured: then the guard must not query it.
inline bool is_capturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const auto& ask = driver()->cuStreamIsCapturing;
    return ask && (ask(stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE);
}

}  // namespace tessera::guard

// The beginning of all hooks whose call enqueues work in a stream.
#pragma once

#include "guard/compute/streams.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/hooks/work/stream_of.hpp"

// Defines the hook `name`, and that of its variant `name`_ptsz, where stream 0 is the thread's
// default stream. `kind`, a WorkKind, and `stream` are expressions that may use the parameters.
#define HOOK_STREAM_CALL(name, kind, stream, parameters, arguments)                \
    CUresult name parameters {                                                     \
        return enqueue_with_permit(&Driver::name, kind, stream, UNPACK arguments); \
    }                                                                              \
    CUresult name##_ptsz parameters {                                              \
        return enqueue_with_permit(&Driver::name##_ptsz, kind, of_thread(stream),  \
                                   UNPACK arguments);                              \
    }
#define UNPACK(...) __VA_ARGS__

namespace tessera::guard {

// Calls the driver's function. If `stream`, the stream of the call, has no burst budget left, it
// waits for a launch permit first. No permit is needed for calls that the driver itself makes.
template <typename... Parameters, typename... Arguments>
CUresult enqueue_with_permit(DriverFunction<CUresult (*)(Parameters...)> Driver::* slot,
                             WorkKind kind, CUstream stream, Arguments... arguments) {
    if (use_burst_budget(stream, kind) && !InDriver::is_now()) {
        // The guard exports functions that this version of the driver may not have. Entered returns
        // an error for them.
        if (const auto& real = driver()->*slot; real) return real(arguments...);
    }
    const Entered real(slot);
    if (!real.must_enforce()) return real(arguments...);
    LaunchPermit permit;
    const CUresult refused = permit.take(stream, kind);
    return refused != CUDA_SUCCESS ? refused : real(arguments...);
}

}  // namespace tessera::guard

// How a hook begins whose call gives work to a stream.
#pragma once

#include "guard/compute/streams.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/hooks/work/stream_of.hpp"

// The hooks of a call that gives work to a stream, and of its twin, where a null stream is the
// thread's own. `kind` and `of` may use the call's arguments.
#define IN_STREAM_OF(name, kind, of, parameters, arguments)                          \
    CUresult name parameters {                                                       \
        return give_work(&Driver::name, kind, of, EACH arguments);                   \
    }                                                                                \
    CUresult name##_ptsz parameters {                                                \
        return give_work(&Driver::name##_ptsz, kind, of_thread(of), EACH arguments); \
    }
#define EACH(...) __VA_ARGS__

namespace tessera::guard {

// Calls the driver's function when the container has a launch permit. `stream` is the stream of the
// call.
template <typename... Parameters, typename... Arguments>
CUresult give_work(DriverFunction<CUresult (*)(Parameters...)> Driver::* slot, WorkKind kind,
                   CUstream stream, Arguments... arguments) {
    if (has_burst_budget(stream, kind) && !InDriver::is_now()) {
        // A program may call our name of a function that this driver does not have. It gets an
        // error below.
        if (const auto& real = driver()->*slot; real) return real(arguments...);
    }
    const Entered real(slot);
    if (!real.is_held()) return real(arguments...);
    LaunchPermit permit;
    const CUresult refused = permit.take(stream, kind);
    return refused != CUDA_SUCCESS ? refused : real(arguments...);
}

}  // namespace tessera::guard

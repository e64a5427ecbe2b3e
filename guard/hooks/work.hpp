// How a hook of a call begins that gives a stream work.
#pragma once

#include "guard/compute/streams.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/hooks/stream_of.hpp"

// A hook of a call that gives work to a stream, and of its twin, where a null stream is the
// thread's own. `kind` and `of` may use what it is called with.
#define IN_STREAM_OF(name, kind, of, parameters, arguments)                          \
    CUresult name parameters {                                                       \
        return give_work(&Driver::name, kind, of, EACH arguments);                   \
    }                                                                                \
    CUresult name##_ptsz parameters {                                                \
        return give_work(&Driver::name##_ptsz, kind, of_thread(of), EACH arguments); \
    }
#define EACH(...) __VA_ARGS__

namespace tessera::guard {

// Calls the driver's own when it is the container's turn. `stream` is that which the call works in.
template <typename... Parameters, typename... Arguments>
CUresult give_work(DriverFunction<CUresult (*)(Parameters...)> Driver::* slot, WorkKind kind,
                   CUstream stream, Arguments... arguments) {
    if (has_credit(stream, kind) && !InDriver::is_now()) {
        // Who holds on to our name for what this driver has not got gets an error of it below.
        if (const auto& real = driver()->*slot; real) return real(arguments...);
    }
    const Entered real(slot);
    if (!real.is_held()) return real(arguments...);
    Turn turn;
    const CUresult refused = turn.take(stream, kind);
    return refused != CUDA_SUCCESS ? refused : real(arguments...);
}

}  // namespace tessera::guard

// Waits for work, from which the guard learns that the work has ended and that pools have released
// memory; and calls that end streams.
#include "guard/compute/measure/stream_ends.hpp"
#include "guard/compute/streams.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/hooks/work/work.hpp"
#include "guard/process/pools.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

// `stream` is the one that is waited for or queried.
template <typename Function>
CUresult wait_for_stream(Function Driver::* slot, CUstream stream, CUstream argument) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(argument);
    const Given given = before_wait(stream);
    const CUresult result = real(argument);
    if (result == CUDA_SUCCESS) {
        after_wait(stream, given);
        look_after_wait(stream);
    }
    return result;
}

template <typename Function>
CUresult ask_after_stream(Function Driver::* slot, CUstream stream, CUstream argument) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(argument);
    const CUresult result = real(argument);
    if (result == CUDA_SUCCESS) found_done(stream);
    if (result == CUDA_ERROR_NOT_READY) found_at_work(stream);
    return result;
}

// `wait` waits for all work of the current context.
template <typename Wait>
CUresult wait_for_context(const Wait& wait) {
    before_wait(nullptr);
    before_wait_for_context();
    const CUresult result = wait();
    if (result == CUDA_SUCCESS) {
        after_wait_for_context();
        look_after_wait_for_all();
    }
    return result;
}

template <typename Function>
CUresult destroy(Function Driver::* slot, CUstream stream) {
    const Entered real(slot);
    if (real.must_enforce()) {
        leave_stream(stream);
        forget_freed_in(stream);
    }
    return real(stream);
}

}  // namespace

CUresult cuStreamSynchronize(CUstream stream) {
    return wait_for_stream(&Driver::cuStreamSynchronize, stream, stream);
}

CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    return wait_for_stream(&Driver::cuStreamSynchronize_ptsz, of_thread(stream), stream);
}

CUresult cuStreamQuery(CUstream stream) {
    return ask_after_stream(&Driver::cuStreamQuery, stream, stream);
}

CUresult cuStreamQuery_ptsz(CUstream stream) {
    return ask_after_stream(&Driver::cuStreamQuery_ptsz, of_thread(stream), stream);
}

CUresult cuEventSynchronize(CUevent event) {
    const Entered real(&Driver::cuEventSynchronize);
    if (!real.must_enforce()) return real(event);
    const int gpu = before_wait_for_event();
    const CUresult result = real(event);
    if (result == CUDA_SUCCESS) {
        if (gpu >= 0) look_for_ended(gpu, Ended::waited_for);
        look_at_pools();
    }
    return result;
}

CUresult cuCtxSynchronize() {
    const Entered real(&Driver::cuCtxSynchronize);
    return real.must_enforce() ? wait_for_context([&] { return real(); }) : real();
}

// Of CUDA 13: waits for the work of any context, which the hook makes current meanwhile.
CUresult cuCtxSynchronize_v2(CUcontext context) {
    const Entered real(&Driver::cuCtxSynchronize_v2);
    CUcontext current = nullptr;
    if (!real.must_enforce() || driver()->cuCtxGetCurrent(&current) != CUDA_SUCCESS)
        return real(context);
    if (current == context) return wait_for_context([&] { return real(context); });
    if (driver()->cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return real(context);
    forget_last_used();
    const CUresult result = wait_for_context([&] { return real(context); });
    driver()->cuCtxPopCurrent_v2(&context);
    forget_last_used();
    return result;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    return destroy(&Driver::cuStreamDestroy_v2, stream);
}

CUresult cuStreamDestroy(CUstream stream) {
    return destroy(&Driver::cuStreamDestroy, stream);
}

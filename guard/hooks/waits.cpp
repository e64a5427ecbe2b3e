// Waits for work, from which the guard learns that it has ended, and that pools have given memory
// back; and what ends streams.
#include <atomic>

#include "guard/compute/stream_ends.hpp"
#include "guard/compute/streams.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/hooks/work.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/pools.hpp"

using namespace tessera::guard;  // the hooks are extern "C" and stand outside

namespace {

// `stream` is the one that is waited for or asked after.
template <typename Function>
CUresult wait_for_stream(Function Driver::* slot, CUstream stream, CUstream argument) {
    const Entered real(slot);
    if (!real.is_held()) return real(argument);
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
    if (!real.is_held()) return real(argument);
    const CUresult result = real(argument);
    if (result == CUDA_SUCCESS) found_done(stream);
    if (result == CUDA_ERROR_NOT_READY) found_at_work(stream);
    return result;
}

// There was one, in this process or the one that it was forked from.
std::atomic<bool> has_captures = false;

// A stream that is drawn into a capture is not to be asked after meanwhile: that would spoil it.
template <typename Function, typename... Arguments>
CUresult begin_capture(Function Driver::* slot, CUstream stream, Arguments... arguments) {
    const Entered real(slot);
    if (!real.is_held()) return real(arguments...);
    has_captures = true;
    const Current owner = owner_of(stream);
    if (owner.card < 0) return real(arguments...);
    note_capture(owner, stream);
    const Locked nobody_asks(timing(owner.card).mutex);
    return real(arguments...);
}

// What the stream has to wait for before its next work.
template <typename Function, typename... Arguments>
CUresult give_wait(Function Driver::* slot, CUstream stream, Arguments... arguments) {
    const Entered real(slot);
    if (real.is_held()) before_stream_waits(stream);
    return real(arguments...);
}

// The event may be of a capture, if there is one.
template <typename Function, typename... Arguments>
CUresult wait_for_event(Function Driver::* slot, CUstream stream, Arguments... arguments) {
    if (!has_captures) return give_wait(slot, stream, arguments...);
    const Entered real(slot);
    if (!real.is_held()) return real(arguments...);
    before_stream_waits(stream);
    const Current owner = owner_of(stream);
    if (owner.card < 0) return real(arguments...);
    const Locked nobody_asks(timing(owner.card).mutex);
    return real(arguments...);
}

template <typename Function>
CUresult destroy(Function Driver::* slot, CUstream stream) {
    const Entered real(slot);
    if (real.is_held()) {
        leave_stream(stream);
        forget_freed_in(stream);
    }
    return real(stream);
}

// The thread's default streams are those of its context.
template <typename Function, typename Context>
CUresult change_context(Function Driver::* slot, Context context) {
    const Entered real(slot);
    forget_last_used();
    return real(context);
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
    if (!real.is_held()) return real(event);
    const int card = before_wait_for_event();
    const CUresult result = real(event);
    if (result == CUDA_SUCCESS) {
        if (card >= 0) look_for_ended(card, Ended::waited_for);
        look_at_pools();
    }
    return result;
}

CUresult cuCtxSynchronize() {
    const Entered real(&Driver::cuCtxSynchronize);
    if (!real.is_held()) return real();
    before_wait(nullptr);
    before_wait_for_context();
    const CUresult result = real();
    if (result == CUDA_SUCCESS) {
        after_wait_for_context();
        look_after_wait_for_all();
    }
    return result;
}

CUresult cuStreamBeginCapture(CUstream stream) {
    return begin_capture(&Driver::cuStreamBeginCapture, stream, stream);
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    return begin_capture(&Driver::cuStreamBeginCapture_ptsz, of_thread(stream), stream);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t dependency_count, CUstreamCaptureMode mode) {
    return begin_capture(&Driver::cuStreamBeginCaptureToGraph, stream, stream, graph, dependencies,
                         edges, dependency_count, mode);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                          const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* edges, size_t dependency_count,
                                          CUstreamCaptureMode mode) {
    return begin_capture(&Driver::cuStreamBeginCaptureToGraph_ptsz, of_thread(stream), stream,
                         graph, dependencies, edges, dependency_count, mode);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return begin_capture(&Driver::cuStreamBeginCapture_v2, stream, stream, mode);
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    return begin_capture(&Driver::cuStreamBeginCapture_v2_ptsz, of_thread(stream), stream, mode);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    return wait_for_event(&Driver::cuStreamWaitEvent, stream, stream, event, flags);
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    return wait_for_event(&Driver::cuStreamWaitEvent_ptsz, of_thread(stream), stream, event, flags);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return give_wait(&Driver::cuLaunchHostFunc, stream, stream, function, data);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
    return give_wait(&Driver::cuLaunchHostFunc_ptsz, of_thread(stream), stream, function, data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                             unsigned int flags) {
    return give_wait(&Driver::cuStreamAddCallback, stream, stream, callback, data, flags);
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                                  unsigned int flags) {
    return give_wait(&Driver::cuStreamAddCallback_ptsz, of_thread(stream), stream, callback, data,
                     flags);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    return destroy(&Driver::cuStreamDestroy_v2, stream);
}

CUresult cuStreamDestroy(CUstream stream) {
    return destroy(&Driver::cuStreamDestroy, stream);
}

CUresult cuCtxSetCurrent(CUcontext context) {
    return change_context(&Driver::cuCtxSetCurrent, context);
}

CUresult cuCtxPushCurrent(CUcontext context) {
    return change_context(&Driver::cuCtxPushCurrent, context);
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
    return change_context(&Driver::cuCtxPushCurrent_v2, context);
}

CUresult cuCtxPopCurrent(CUcontext* context) {
    return change_context(&Driver::cuCtxPopCurrent, context);
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    return change_context(&Driver::cuCtxPopCurrent_v2, context);
}

// Captures, and the waits that may draw a stream into a capture.
#include <atomic>

#include "guard/compute/measure/stream_ends.hpp"
#include "guard/hooks/enter.hpp"
#include "guard/hooks/work/work.hpp"

using namespace tessera::guard;  // the hooks are extern "C", outside the namespace

namespace {

// Whether this process, or the one that it was forked from, has begun a capture.
std::atomic<bool> has_captures = false;

template <typename Function, typename... Arguments>
CUresult begin_capture(Function Driver::* slot, CUstream stream, Arguments... arguments) {
    const Entered real(slot);
    if (!real.must_enforce()) return real(arguments...);
    has_captures = true;
    const Current owner = owner_of(stream);
    if (owner.gpu < 0) return real(arguments...);
    note_capture(owner, stream);
    const NotAsked nobody_asks(stream);
    return real(arguments...);
}

// Gives the stream something to wait for before its next work.
template <typename Function, typename... Arguments>
CUresult give_wait(Function Driver::* slot, CUstream stream, Arguments... arguments) {
    const Entered real(slot);
    if (real.must_enforce()) before_stream_waits(stream);
    return real(arguments...);
}

// The event may belong to a capture, if there is one.
template <typename Function, typename... Arguments>
CUresult wait_for_event(Function Driver::* slot, CUstream stream, Arguments... arguments) {
    if (!has_captures) return give_wait(slot, stream, arguments...);
    const Entered real(slot);
    if (!real.must_enforce()) return real(arguments...);
    before_stream_waits(stream);
    const NotAsked nobody_asks(stream);
    return real(arguments...);
}

}  // namespace

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

CUresult cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
                                       CUgraphRecaptureCallback callback, void* data) {
    return begin_capture(&Driver::cuStreamBeginRecaptureToGraph, stream, stream, mode, graph,
                         callback, data);
}

CUresult cuStreamBeginRecaptureToGraph_ptsz(CUstream stream, CUstreamCaptureMode mode,
                                            CUgraph graph, CUgraphRecaptureCallback callback,
                                            void* data) {
    return begin_capture(&Driver::cuStreamBeginRecaptureToGraph_ptsz, of_thread(stream), stream,
                         mode, graph, callback, data);
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

CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void* data, unsigned int mode) {
    return give_wait(&Driver::cuLaunchHostFunc_v2, stream, stream, function, data, mode);
}

CUresult cuLaunchHostFunc_v2_ptsz(CUstream stream, CUhostFn function, void* data,
                                  unsigned int mode) {
    return give_wait(&Driver::cuLaunchHostFunc_v2_ptsz, of_thread(stream), stream, function, data,
                     mode);
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

// How work ends, for streams that nobody waits for, and how streams do.
#include "guard/compute/marks.hpp"
#include "guard/compute/pieces.hpp"
#include "guard/compute/relaxed.hpp"
#include "guard/compute/stream_table.hpp"
#include "guard/compute/streams.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"
#include "guard/process/locked.hpp"

namespace tessera::guard {
namespace {

// The stream, or its context, is no more, and neither is its work.
void forget(StreamTiming& of) {
    end_piece(of);
    free_place_of(of);
}

void forget_with_events(StreamTiming& of) {
    destroy_events(of);
    forget(of);
}

// The stream is about to be no more: its work goes on, and counts until it has ended.
void leave(StreamTiming& of) {
    of.credit.store(0, std::memory_order_relaxed);
    const Relaxed relaxed;
    const bool works_on = of.is_in_flight && !is_capturing(of.stream.load());
    if (!works_on || !record_leaving(of)) forget_with_events(of);
}

void look_at_left(StreamTiming& of) {
    if (is_done(of)) forget_with_events(of);
}

}  // namespace

void after_wait_for_context() {
    CUcontext context = nullptr;
    if (driver()->cuCtxGetCurrent(&context) != CUDA_SUCCESS) return;
    const Locked lock(timing().mutex);
    for_each_stream([context](StreamTiming& each) {
        if (each.context != context) return;
        end_waited_for(each);
        if (each.is_left && !each.is_in_flight) forget_with_events(each);
    });
}

void look_for_ended() {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    for_each_stream([](StreamTiming& each) {
        if (each.is_left) return look_at_left(each);
        const CUstream stream = each.stream.load();
        if (!each.is_in_flight || each.thread != thread_of(stream) || is_capturing(stream)) return;
        if (is_done(each)) end_piece(each);
    });
}

bool watch_streams() {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    bool is_any_in_flight = false;
    for_each_stream([&](StreamTiming& each) {
        const CUstream stream = each.stream.load();
        // Nobody can ask for another thread's default stream.
        if (!each.is_left && (!each.is_in_flight || stream == CU_STREAM_PER_THREAD)) return;
        is_any_in_flight = true;
        if (driver()->cuCtxSetCurrent(each.context) != CUDA_SUCCESS) return;
        if (each.is_left) return look_at_left(each);
        harvest(each);
        if (each.mark_count > 0 || is_capturing(stream)) return;
        if (is_done(each)) end_piece(each);
    });
    return is_any_in_flight;
}

void leave_stream(CUstream stream) {
    const Locked lock(timing().mutex);
    if (is_default(stream)) return;
    StreamTiming* of = find_stream(stream, nullptr);
    if (of != nullptr) leave(*of);
}

void leave_streams_of_thread() {
    const Locked lock(timing().mutex);
    for_each_stream([](StreamTiming& each) {
        if (!each.is_left && each.thread == thread_of(CU_STREAM_PER_THREAD)) leave(each);
    });
}

// Their events end with the context.
void forget_streams_of(CUcontext context) {
    const Locked lock(timing().mutex);
    for_each_stream([context](StreamTiming& each) {
        if (each.context == context) forget(each);
    });
}

}  // namespace tessera::guard

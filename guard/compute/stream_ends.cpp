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

// The stream's context is no more, and neither are its work and its events, which nobody may ask.
void forget(StreamTiming& of) {
    of.is_end_recorded = false;
    end_piece(of);
    free_place_of(of);
}

void forget_with_events(StreamTiming& of) {
    end_piece(of);  // which asks them
    destroy_events(of);
    free_place_of(of);
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

// Whether this thread can ask the driver for it: the name of a default stream is that of the
// current context's, or of the thread's own there.
bool can_ask(const StreamTiming& of) {
    const CUstream stream = of.stream.load();
    if (of.thread != thread_of(stream)) return false;
    CUcontext current = nullptr;
    return !is_default(stream) ||
           (driver()->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == of.context);
}

bool is_seen_done(const StreamTiming& of) {
    return of.is_in_flight && can_ask(of) && !is_capturing(of.stream.load()) && is_done(of);
}

void look_at(StreamTiming& of) {
    if (of.is_left) return look_at_left(of);
    if (is_seen_done(of)) end_piece(of);
}

// Has the driver note when the work that a stream has now will have ended. In a default stream only
// where no other has work: what is given to that waits for other streams, and they for it.
bool see_end(StreamTiming& of) {
    const CUstream stream = of.stream.load();
    if (is_end_known(of)) return true;
    const bool is_alone = timing().flights[of.card][static_cast<int>(of.kind)].streams == 1;
    if (!can_ask(of) || is_capturing(stream)) return false;
    if (is_default(stream) && !is_alone) return false;
    return is_measured(of) && record_end(of);
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

void before_wait_for_event() {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    for_each_stream([](StreamTiming& each) {
        if (each.is_in_flight && !each.is_left) see_end(each);
    });
}

void look_for_ended() {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    for_each_stream([](StreamTiming& each) {
        if (each.is_left) return look_at_left(each);
        if (is_seen_done(each)) end_waited_for(each);
    });
}

bool look_for_ended_meanwhile(int card, WorkKind kind) {
    const Locked lock(timing().mutex);
    if (timing().flights[card][static_cast<int>(kind)].streams == 0) return true;
    const Relaxed relaxed;
    bool is_all_seen = true;
    for_each_stream([&](StreamTiming& each) {
        if (each.card != card || each.kind != kind) return;
        look_at(each);
        const bool is_mine = each.thread == thread_of(each.stream.load());
        if (each.is_in_flight && is_mine) is_all_seen &= see_end(each);
    });
    return is_all_seen;
}

void look_at_some_beside(const StreamTiming& of) {
    Timing& all = timing();
    const int in_flight = all.flights[of.card][static_cast<int>(of.kind)].streams;
    if (in_flight == 0) return;
    constexpr int kMost = 4;
    const Relaxed relaxed;
    int looked_at = 0;
    for (int i = 0; i < all.stream_count && looked_at < in_flight && looked_at < kMost; i++) {
        StreamTiming& each = all.streams[all.next_look++ % static_cast<unsigned>(all.stream_count)];
        if (each.is_gone || !each.is_in_flight || each.card != of.card || each.kind != of.kind)
            continue;
        look_at(each);
        looked_at++;
    }
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
        if (is_capturing(stream)) return;
        if (each.mark_count == 0 && is_done(each)) return end_piece(each);
        see_end(each);
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

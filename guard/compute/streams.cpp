#include "guard/compute/streams.hpp"

#include <pthread.h>

#include "guard/compute/gate.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/pieces.hpp"
#include "guard/compute/stream_table.hpp"
#include "guard/compute/thread_end.hpp"
#include "guard/compute/watch.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"
#include "guard/process/locked.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {

thread_local constinit LastUsed last_used = {};

namespace {

// Where time is not shared out, it may become so: look again after so many launches. Few, for each
// may be long; and what the driver has queued by then cannot be called back.
constexpr int kUntimedCredit = 64;

// Without them there is nothing to measure by.
bool has_events() {
    const Driver& real = *driver();
    return real.cuEventCreate && real.cuEventRecord && real.cuEventQuery &&
           real.cuEventSynchronize && real.cuEventElapsedTime && real.cuStreamQuery;
}

// Our own questions are not the program's: a capture that forbids them elsewhere is none of ours.
class Relaxed {
  public:
    Relaxed() { exchange(); }
    ~Relaxed() { exchange(); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

  private:
    void exchange() {
        const auto& change = driver()->cuThreadExchangeStreamCaptureMode;
        if (change) change(&mode_);
    }
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

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

// Waits until the stream has done all that it was given, and so knows when that was.
void drain(StreamTiming& of) {
    const Locked lock(timing().mutex);
    if (!of.is_in_flight) return;
    const Relaxed relaxed;
    harvest(of);
    if (of.mark_count == kMaxMarks && !pass_first_mark(of)) return end_piece(of);
    record_end(of);
    add_mark(of);
    while (of.mark_count > 0) {
        if (!pass_first_mark(of)) return end_piece(of);
    }
    end_waited_for(of);
}

// What the card is about to do for a stream.
std::int64_t ahead_ns(StreamTiming& of) {
    const Locked lock(timing().mutex);
    const Relaxed relaxed;
    harvest(of);
    return static_cast<std::int64_t>(of.each_ns * launches_ahead(of));
}

// In turn with the neighbours on the card.
void wait_for_turn(StreamTiming* of, int card, WorkKind kind) {
    if (time_to_turn(card, kind, of != nullptr ? ahead_ns(*of) : 0) == 0) return;
    const Waiting waiting(card);
    if (of != nullptr) drain(*of);
    while (const std::int64_t ns = time_to_turn(card, kind, 0))
        sleep_ns(ns);
}

StreamTiming* find_or_add_locked(CUstream stream, const Current& owner) {
    const Locked lock(timing().mutex);
    return find_or_add_stream(stream, owner);
}

// Waits while as many streams have work as there are places: that of one more would not be counted.
void wait_for_place(CUstream stream, const Current& owner) {
    constexpr std::int64_t kLookNs = 1'000'000;
    while (find_or_add_locked(stream, owner) == nullptr) {
        sleep_ns(kLookNs);
        look_for_ended();
    }
}

}  // namespace

CUresult Turn::take(CUstream stream, WorkKind kind) {
    Current owner;
    if (const CUresult none = find_current(owner); none != CUDA_SUCCESS) return none;
    if (is_capturing(stream)) return CUDA_SUCCESS;
    owner = owner_of(stream, owner);
    if (stream == CU_STREAM_PER_THREAD) leave_streams_at_thread_end();
    const bool timed = is_timed(owner.card) && has_events();
    if (timed) {
        wait_for_place(stream, owner);
        wait_for_turn(find_or_add_locked(stream, owner), owner.card, kind);
    }
    const Locked lock(timing().mutex);
    // Again: while this thread waited, another may have needed the place.
    StreamTiming* of = find_or_add_stream(stream, owner);
    if (of == nullptr) return CUDA_SUCCESS;
    last_used = {stream, of};
    if (!timed) {
        of->credit.store(kUntimedCredit, std::memory_order_relaxed);
        return CUDA_SUCCESS;
    }
    const Relaxed relaxed;
    harvest(*of);
    if (of->is_in_flight && of->kind == WorkKind::copies && kind == WorkKind::kernels)
        end_piece(*of);
    if (!of->is_in_flight) {
        begin_piece(*of, kind);
        need_watch();
    }
    // Before pass_first_mark() lets others in.
    of_ = of;
    generation_ = of->generation;
    of->on_their_way++;
    if (of->since_mark > 0) {
        if (of->mark_count == kMaxMarks && !pass_first_mark(*of)) {
            end_piece(*of);
            return CUDA_SUCCESS;
        }
        add_mark(*of);
    }
    of->since_mark += of->batch;
    of->credit.store(of->batch - 1, std::memory_order_relaxed);
    return CUDA_SUCCESS;
}

// The stream may be gone meanwhile, and another one in its place, which has turns of its own.
Turn::~Turn() {
    if (of_ == nullptr) return;
    const Locked lock(timing().mutex);
    if (of_->generation == generation_) of_->on_their_way--;
}

void before_wait(CUstream stream) {
    const Locked lock(timing().mutex);
    StreamTiming* of = find_current_stream(stream);
    if (of != nullptr && of->is_in_flight && !is_capturing(stream)) record_end(*of);
}

void after_wait(CUstream stream) {
    const Locked lock(timing().mutex);
    StreamTiming* of = find_current_stream(stream);
    if (of != nullptr) end_waited_for(*of);
}

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
        if (each.is_left) {
            is_any_in_flight = true;
            return look_at_left(each);
        }
        // Nobody can ask for another thread's default stream.
        if (!each.is_in_flight || stream == CU_STREAM_PER_THREAD) return;
        is_any_in_flight = true;
        if (driver()->cuCtxSetCurrent(each.context) != CUDA_SUCCESS) return;
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

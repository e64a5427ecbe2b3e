#include "guard/compute/measure/stream_ends.hpp"

#include <algorithm>

#include "guard/base/locked.hpp"
#include "guard/base/relaxed.hpp"
#include "guard/compute/measure/busy_intervals.hpp"
#include "guard/compute/measure/end_of_work.hpp"
#include "guard/compute/measure/gpu_clock.hpp"
#include "guard/compute/measure/in_context.hpp"
#include "guard/compute/measure/pacing_events.hpp"
#include "guard/compute/measure/stream_table.hpp"
#include "guard/compute/measure/stream_waits.hpp"
#include "guard/compute/measure/work_intervals.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"

namespace tessera::guard {
namespace {

// The stream's context no longer exists, nor do its work and its events. They must not be queried.
void forget(StreamTiming& of) {
    of.end.is_recorded = false;
    of.pacing_events.ahead = 0;
    of.pacing_events.last_reached = nullptr;
    end_interval(of, Ended::looked_at);
    free_place_of(of);
}

void forget_with_events(StreamTiming& of) {
    end_interval(of, Ended::looked_at);  // this queries the events
    destroy_events(of);
    free_place_of(of);
}

// The stream is about to be destroyed. Its work goes on, and counts until it has ended.
void leave(StreamTiming& of) {
    take_back_burst_budget(of);
    const Relaxed relaxed;
    const InContext there(of.context);
    if (!of.is_in_flight || !record_leaving(of)) forget_with_events(of);
}

void look_at_left(StreamTiming& of) {
    if (is_done(of)) forget_with_events(of);
}

void look_at(StreamTiming& of) {
    if (is_left(of)) return look_at_left(of);
    if (of.is_in_flight && is_done(of)) return end_interval(of, Ended::looked_at);
    look_whether_begun(of);
}

constexpr int kSomeBeside = 4;

// Has the driver record when the stream's present work ends. Not in the default stream of a
// context.
bool see_end(StreamTiming& of) {
    if (is_end_known(of)) return true;
    // The stream may get more work meanwhile, or be drawn into a capture.
    if (of.on_their_way > 0) return false;
    if (is_default_of_all(of) || !has_start(of)) return false;
    return can_ask(of) && !is_capturing(of.stream.load()) && record_end(of);
}

// If the driver cannot record the end, it is at least known whether the stream got more work from
// now on. Returns whether the driver was called.
bool see_or_await_end(StreamTiming& of) {
    if (see_end(of)) return true;
    await_end(of);
    return false;
}

// Visits the streams in flight in rotation, at most `most`, because each costs calls to the driver.
template <typename Body>
void for_some_in_flight(int gpu, int most, const Body& body) {
    Timing& all = timing(gpu);
    int looked_at = 0;
    for (int i = 0; i < all.stream_count && looked_at < most; i++) {
        StreamTiming& each = all.streams[all.next_look++ % static_cast<unsigned>(all.stream_count)];
        if (is_gone(each) || !each.is_in_flight || each.context == all.ending) continue;
        if (body(each)) looked_at++;
    }
}

// If the stream is known.
template <typename Body>
void with_stream(CUstream stream, const Body& body) {
    const Current owner = owner_of(stream);
    if (owner.gpu < 0) return;
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of == nullptr) return;
    const Relaxed relaxed;
    body(*of);
}

}  // namespace

NotAsked::NotAsked(CUstream stream) {
    const Current owner = owner_of(stream);
    if (owner.gpu < 0) return;
    const Locked lock(timing(owner.gpu).mutex);
    of_ = find_stream(stream, owner);
    if (of_ == nullptr) return;
    generation_ = of_->generation;
    of_->on_their_way++;
}

NotAsked::~NotAsked() {
    if (of_ == nullptr) return;
    const Locked lock(timing(of_->gpu).mutex);
    if (of_->generation == generation_) of_->on_their_way--;
}

void found_done(CUstream stream) {
    with_stream(stream, [](StreamTiming& of) {
        end_if_done(of, Ended::asked_after);
        look_at_some_beside(of.gpu, &of);
    });
}

void found_at_work(CUstream stream) {
    with_stream(stream, [](StreamTiming& of) {
        if (of.is_in_flight) see_or_await_end(of);
    });
}

void before_stream_waits(CUstream stream) {
    with_stream(stream, begin_wait);
}

void before_wait_for_context() {
    const Current here = owner_of(nullptr);
    if (here.gpu < 0) return;
    const Locked lock(timing(here.gpu).mutex);
    for_each_stream(here.gpu, await_end);
}

void after_wait_for_context() {
    const Current here = owner_of(nullptr);
    if (here.gpu < 0) return;
    const Locked lock(timing(here.gpu).mutex);
    const Relaxed relaxed;
    for_each_asked(here.gpu, [here](StreamTiming& each) {
        if (each.context != here.context) return;
        end_if_done(each, Ended::waited_for);
        if (is_left(each) && !each.is_in_flight) forget_with_events(each);
    });
}

int before_wait_for_event() {
    const int gpu = owner_of(nullptr).gpu;
    if (gpu < 0) return gpu;
    const Locked lock(timing(gpu).mutex);
    const Relaxed relaxed;
    constexpr int kMost = 16;
    for_some_in_flight(gpu, kMost,
                       [](StreamTiming& each) { return !is_left(each) && see_or_await_end(each); });
    return gpu;
}

void look_for_ended(int gpu, Ended how) {
    const Locked lock(timing(gpu).mutex);
    const Relaxed relaxed;
    for_each_asked(gpu, [how](StreamTiming& each) {
        if (is_left(each)) return look_at_left(each);
        end_if_done(each, how);
    });
}

bool look_for_ended_meanwhile(int gpu) {
    constexpr std::int64_t kAgainNs = 200'000;  // regardless of how many threads wait
    Timing& all = timing(gpu);
    const Locked lock(all.mutex);
    if (streams_in_flight(gpu) == 0) return true;
    const std::int64_t now = monotonic_ns();
    if (all.looked_permits == all.permits && now - all.looked_ns < kAgainNs) return all.is_all_seen;
    const Relaxed relaxed;
    bool is_all_seen = true;
    for_each_asked(gpu, [&](StreamTiming& each) {
        look_at(each);
        const bool is_mine = each.thread == thread_of(each.stream.load());
        if (each.is_in_flight && is_mine) is_all_seen &= see_end(each);
    });
    all.looked_ns = now;
    all.looked_permits = all.permits;
    all.is_all_seen = is_all_seen;
    return is_all_seen;
}

void see_some_ends_beside(int gpu, const StreamTiming* of) {
    const int mine = of != nullptr && of->is_in_flight ? 1 : 0;
    if (streams_in_flight(gpu) <= mine) return;
    const Relaxed relaxed;
    for_some_in_flight(gpu, kSomeBeside, [of](StreamTiming& each) {
        return &each != of && !is_left(each) && !is_end_known(each) && see_or_await_end(each);
    });
}

void look_at_some_beside(int gpu, const StreamTiming* of) {
    if (streams_in_flight(gpu) == 0) return;
    const Relaxed relaxed;
    for_some_in_flight(gpu, kSomeBeside, [of](StreamTiming& each) {
        if (&each != of) look_at(each);
        return &each != of;
    });
}

bool poll_streams(int gpu) {
    const Locked lock(timing(gpu).mutex);
    const Relaxed relaxed;
    bool is_any_in_flight = false;
    for_each_asked(gpu, [&](StreamTiming& each) {
        if (!is_left(each) && !each.is_in_flight) return;
        is_any_in_flight = true;
        if (driver()->cuCtxSetCurrent(each.context) != CUDA_SUCCESS) return;
        if (is_left(each)) return look_at_left(each);
        harvest(each);
        if (each.pacing_events.ahead == 0 && is_done(each))
            return end_interval(each, Ended::looked_at);
        look_whether_begun(each);
        see_end(each);
    });
    return is_any_in_flight;
}

namespace {

bool leave_stream_of(int gpu, CUstream stream) {
    const Locked lock(timing(gpu).mutex);
    StreamTiming* of = find_stream(stream, {nullptr, gpu});
    if (of != nullptr) leave(*of);
    return of != nullptr;
}

}  // namespace

// The thread may have no context of the stream's GPU, or none at all.
void leave_stream(CUstream stream) {
    if (is_default(stream)) return;
    const int likely = owner_of(stream).gpu;
    if (likely >= 0 && leave_stream_of(likely, stream)) return;
    for (int gpu = 0; gpu < kMaxGpus; gpu++)
        if (gpu != likely && leave_stream_of(gpu, stream)) return;
}

void leave_streams_of_thread(int gpu) {
    const Locked lock(timing(gpu).mutex);
    for_each_stream(gpu, [](StreamTiming& each) {
        if (!is_left(each) && each.thread == thread_of(CU_STREAM_PER_THREAD)) leave(each);
    });
}

void ignore_streams_of(CUcontext context) {
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        const Locked lock(timing(gpu).mutex);
        timing(gpu).ending = context;
    }
}

void note_capture(const Current& owner, CUstream stream) {
    const Locked lock(timing(owner.gpu).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of == nullptr || !of->is_in_flight) return;
    take_back_burst_budget(*of);
    const Relaxed relaxed;
    see_end(*of);
}

// The streams' events end with the context. From here on, the context is no longer ignored.
void forget_streams_of(CUcontext context) {
    for (int gpu = 0; gpu < kMaxGpus; gpu++) {
        const Locked lock(timing(gpu).mutex);
        for_each_stream(gpu, [context](StreamTiming& each) {
            if (each.context == context) forget(each);
        });
        forget_clock(gpu, context);
        timing(gpu).ending = nullptr;
    }
}

}  // namespace tessera::guard

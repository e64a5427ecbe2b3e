#include "guard/compute/stream_ends.hpp"

#include <algorithm>

#include "guard/compute/card_clock.hpp"
#include "guard/compute/end_of_work.hpp"
#include "guard/compute/flights.hpp"
#include "guard/compute/in_context.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/pieces.hpp"
#include "guard/compute/stream_table.hpp"
#include "guard/compute/stream_waits.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/capture.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/relaxed.hpp"

namespace tessera::guard {
namespace {

// The stream's context is no more, and neither are its work and its events, which nobody may ask.
void forget(StreamTiming& of) {
    of.end.is_recorded = false;
    of.marks.ahead = 0;
    of.marks.last_reached = nullptr;
    end_piece(of, Ended::looked_at);
    free_place_of(of);
}

void forget_with_events(StreamTiming& of) {
    end_piece(of, Ended::looked_at);  // which asks them
    destroy_events(of);
    free_place_of(of);
}

// The stream is about to be no more: its work goes on, and counts until it has ended.
void leave(StreamTiming& of) {
    take_back_credit(of);
    const Relaxed relaxed;
    const InContext there(of.context);
    if (!of.is_in_flight || !record_leaving(of)) forget_with_events(of);
}

void look_at_left(StreamTiming& of) {
    if (is_done(of)) forget_with_events(of);
}

void look_at(StreamTiming& of) {
    if (is_left(of)) return look_at_left(of);
    if (of.is_in_flight && is_done(of)) return end_piece(of, Ended::looked_at);
    look_whether_begun(of);
}

constexpr int kSomeBeside = 4;

// Has the driver note when the work that a stream has now will have ended. Not in the default
// stream of a context.
bool see_end(StreamTiming& of) {
    if (is_end_known(of)) return true;
    // What comes behind it meanwhile; and it may be drawn into a capture.
    if (of.on_their_way > 0) return false;
    if (is_default_of_all(of) || !has_start(of)) return false;
    return can_ask(of) && !is_capturing(of.stream.load()) && record_end(of);
}

// Where the driver cannot, it is known at least that the stream got no more from now on. Whether
// the driver was asked.
bool see_or_await_end(StreamTiming& of) {
    if (see_end(of)) return true;
    await_end(of);
    return false;
}

// Those in flight in turn, so many at most: each costs calls of the driver's.
template <typename Body>
void for_some_in_flight(int card, int most, const Body& body) {
    Timing& all = timing(card);
    int looked_at = 0;
    for (int i = 0; i < all.stream_count && looked_at < most; i++) {
        StreamTiming& each = all.streams[all.next_look++ % static_cast<unsigned>(all.stream_count)];
        if (is_gone(each) || !each.is_in_flight || each.context == all.ending) continue;
        if (body(each)) looked_at++;
    }
}

// If it is known.
template <typename Body>
void with_stream(CUstream stream, const Body& body) {
    const Current owner = owner_of(stream);
    if (owner.card < 0) return;
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of == nullptr) return;
    const Relaxed relaxed;
    body(*of);
}

}  // namespace

NotAsked::NotAsked(CUstream stream) {
    const Current owner = owner_of(stream);
    if (owner.card < 0) return;
    const Locked lock(timing(owner.card).mutex);
    of_ = find_stream(stream, owner);
    if (of_ == nullptr) return;
    generation_ = of_->generation;
    of_->on_their_way++;
}

NotAsked::~NotAsked() {
    if (of_ == nullptr) return;
    const Locked lock(timing(of_->card).mutex);
    if (of_->generation == generation_) of_->on_their_way--;
}

void found_done(CUstream stream) {
    with_stream(stream, [](StreamTiming& of) {
        end_if_done(of, Ended::asked_after);
        look_at_some_beside(of.card, &of);
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
    if (here.card < 0) return;
    const Locked lock(timing(here.card).mutex);
    for_each_stream(here.card, await_end);
}

void after_wait_for_context() {
    const Current here = owner_of(nullptr);
    if (here.card < 0) return;
    const Locked lock(timing(here.card).mutex);
    const Relaxed relaxed;
    for_each_asked(here.card, [here](StreamTiming& each) {
        if (each.context != here.context) return;
        end_if_done(each, Ended::waited_for);
        if (is_left(each) && !each.is_in_flight) forget_with_events(each);
    });
}

int before_wait_for_event() {
    const int card = owner_of(nullptr).card;
    if (card < 0) return card;
    const Locked lock(timing(card).mutex);
    const Relaxed relaxed;
    constexpr int kMost = 16;
    for_some_in_flight(card, kMost,
                       [](StreamTiming& each) { return !is_left(each) && see_or_await_end(each); });
    return card;
}

void look_for_ended(int card, Ended how) {
    const Locked lock(timing(card).mutex);
    const Relaxed relaxed;
    for_each_asked(card, [how](StreamTiming& each) {
        if (is_left(each)) return look_at_left(each);
        end_if_done(each, how);
    });
}

bool look_for_ended_meanwhile(int card) {
    constexpr std::int64_t kAgainNs = 200'000;  // however many threads wait
    Timing& all = timing(card);
    const Locked lock(all.mutex);
    if (streams_in_flight(card) == 0) return true;
    const std::int64_t now = monotonic_ns();
    if (all.looked_turns == all.turns && now - all.looked_ns < kAgainNs) return all.is_all_seen;
    const Relaxed relaxed;
    bool is_all_seen = true;
    for_each_asked(card, [&](StreamTiming& each) {
        look_at(each);
        const bool is_mine = each.thread == thread_of(each.stream.load());
        if (each.is_in_flight && is_mine) is_all_seen &= see_end(each);
    });
    all.looked_ns = now;
    all.looked_turns = all.turns;
    all.is_all_seen = is_all_seen;
    return is_all_seen;
}

void see_some_ends_beside(int card, const StreamTiming* of) {
    const int mine = of != nullptr && of->is_in_flight ? 1 : 0;
    if (streams_in_flight(card) <= mine) return;
    const Relaxed relaxed;
    for_some_in_flight(card, kSomeBeside, [of](StreamTiming& each) {
        return &each != of && !is_left(each) && !is_end_known(each) && see_or_await_end(each);
    });
}

void look_at_some_beside(int card, const StreamTiming* of) {
    if (streams_in_flight(card) == 0) return;
    const Relaxed relaxed;
    for_some_in_flight(card, kSomeBeside, [of](StreamTiming& each) {
        if (&each != of) look_at(each);
        return &each != of;
    });
}

bool watch_streams(int card) {
    const Locked lock(timing(card).mutex);
    const Relaxed relaxed;
    bool is_any_in_flight = false;
    for_each_asked(card, [&](StreamTiming& each) {
        if (!is_left(each) && !each.is_in_flight) return;
        is_any_in_flight = true;
        if (driver()->cuCtxSetCurrent(each.context) != CUDA_SUCCESS) return;
        if (is_left(each)) return look_at_left(each);
        harvest(each);
        if (each.marks.ahead == 0 && is_done(each)) return end_piece(each, Ended::looked_at);
        look_whether_begun(each);
        see_end(each);
    });
    return is_any_in_flight;
}

namespace {

bool leave_stream_of(int card, CUstream stream) {
    const Locked lock(timing(card).mutex);
    StreamTiming* of = find_stream(stream, {nullptr, card});
    if (of != nullptr) leave(*of);
    return of != nullptr;
}

}  // namespace

// The thread may have no context of its card, or none at all.
void leave_stream(CUstream stream) {
    if (is_default(stream)) return;
    const int likely = owner_of(stream).card;
    if (likely >= 0 && leave_stream_of(likely, stream)) return;
    for (int card = 0; card < kMaxCards; card++)
        if (card != likely && leave_stream_of(card, stream)) return;
}

void leave_streams_of_thread(int card) {
    const Locked lock(timing(card).mutex);
    for_each_stream(card, [](StreamTiming& each) {
        if (!is_left(each) && each.thread == thread_of(CU_STREAM_PER_THREAD)) leave(each);
    });
}

void ignore_streams_of(CUcontext context) {
    for (int card = 0; card < kMaxCards; card++) {
        const Locked lock(timing(card).mutex);
        timing(card).ending = context;
    }
}

void note_capture(const Current& owner, CUstream stream) {
    const Locked lock(timing(owner.card).mutex);
    StreamTiming* of = find_stream(stream, owner);
    if (of == nullptr || !of->is_in_flight) return;
    take_back_credit(*of);
    const Relaxed relaxed;
    see_end(*of);
}

// Their events end with the context, which is not ignored from here on.
void forget_streams_of(CUcontext context) {
    for (int card = 0; card < kMaxCards; card++) {
        const Locked lock(timing(card).mutex);
        for_each_stream(card, [context](StreamTiming& each) {
            if (each.context == context) forget(each);
        });
        forget_clock(card, context);
        timing(card).ending = nullptr;
    }
}

}  // namespace tessera::guard

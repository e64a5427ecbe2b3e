#include "guard/compute/measure/stream_table.hpp"

#include <algorithm>

#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

// The place of a stream that has no work. When that stream has work again, it gets another place.
StreamTiming* take_idle_place(int gpu) {
    Timing& all = timing(gpu);
    for (int tried = 0; tried < kMaxStreams; tried++) {
        StreamTiming& each = all.streams[all.next_idle++ % kMaxStreams];
        if (each.is_in_flight || is_left(each) || each.on_their_way > 0) continue;
        if (each.context == all.ending) continue;
        destroy_events(each);
        free_place_of(each);
        return &each;
    }
    return nullptr;
}

StreamTiming* find_place(int gpu) {
    Timing& all = timing(gpu);
    for (int i = 0; i < all.stream_count; i++)
        if (is_gone(all.streams[i])) return &all.streams[i];
    if (all.stream_count < kMaxStreams) return &all.streams[all.stream_count++];
    return take_idle_place(gpu);
}

}  // namespace

pthread_t thread_of(CUstream stream) {
    return stream == CU_STREAM_PER_THREAD ? pthread_self() : 0;
}

StreamTiming* find_stream(CUstream stream, const Current& owner) {
    Timing& all = timing(owner.gpu);
    const auto is_it = [&](const StreamTiming& each) {
        if (is_gone(each) || is_left(each) || each.is_waited_copy) return false;
        if (each.stream.load(std::memory_order_relaxed) != stream) return false;
        return !is_default(stream) ||
               (each.context == owner.context && each.thread == thread_of(stream));
    };
    StreamTiming* const end = all.streams + all.stream_count;
    StreamTiming* const found = std::find_if(all.streams, end, is_it);
    return found != end ? found : nullptr;
}

namespace {

StreamTiming* add_stream(CUstream stream, const Current& owner) {
    StreamTiming* made = find_place(owner.gpu);
    if (made == nullptr) return nullptr;
    made->state = StreamTiming::State::lives;
    made->is_waited_copy = false;
    made->context = owner.context;
    made->thread = thread_of(stream);
    made->gpu = owner.gpu;
    made->on_their_way = 0;
    made->generation++;
    made->pace = {.each_ns = 0, .longest_ns = 0, .batch = 1, .to_pacing_event = 0};
    for (LaunchedWork& work : made->work)
        work = {};
    made->is_at_wait = false;
    made->stream.store(stream, std::memory_order_relaxed);
    return made;
}

}  // namespace

StreamTiming* find_or_add_stream(CUstream stream, const Current& owner) {
    StreamTiming* known = find_stream(stream, owner);
    return known != nullptr ? known : add_stream(stream, owner);
}

StreamTiming* find_or_add_waited_copy(CUstream stream, const Current& owner) {
    StreamTiming* found = nullptr;
    for_each_stream(owner.gpu, [&](StreamTiming& each) {
        const bool is_free = !each.is_in_flight && !is_left(each) && each.on_their_way == 0;
        if (each.is_waited_copy && is_free && each.context == owner.context &&
            each.stream.load(std::memory_order_relaxed) == stream)
            found = &each;
    });
    if (found == nullptr) found = add_stream(stream, owner);
    if (found == nullptr) return nullptr;
    found->is_waited_copy = true;
    found->thread = pthread_self();  // no other thread may query it, whichever stream it is
    return found;
}

void free_place_of(StreamTiming& of) {
    of.burst_budget.store(0, std::memory_order_relaxed);
    of.burst_budget_for.store(BurstBudgetFor::nothing, std::memory_order_relaxed);
    for (PacingEvent& pacing_event : of.pacing_events.places)
        pacing_event = {};
    of.pacing_events.last_reached = nullptr;
    of.start.event = nullptr;
    of.end.event = nullptr;
    of.state = StreamTiming::State::gone;
}

void destroy_events(const StreamTiming& of) {
    const auto destroy = [](CUevent event) {
        if (event != nullptr) driver()->cuEventDestroy_v2(event);
    };
    for (const PacingEvent& pacing_event : of.pacing_events.places) {
        destroy(pacing_event.event);
        destroy(pacing_event.behind_next);
    }
    destroy(of.start.event);
    destroy(of.end.event);
}

}  // namespace tessera::guard

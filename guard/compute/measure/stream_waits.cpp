#include "guard/compute/measure/stream_waits.hpp"

#include "guard/compute/measure/end_of_work.hpp"
#include "guard/compute/measure/pacing_events.hpp"
#include "guard/compute/measure/work_intervals.hpp"

namespace tessera::guard {
namespace {

// Whether there are places for both ends of the wait, with some left for the pacing events between
// launches. A program that gives a stream more waits is charged by the mean of its launches
// (pauses.hpp).
bool has_place_for_wait(const StreamTiming& of) {
    return of.pacing_events.ahead + 2 <= kPacingEventPlaces - kMaxPacingEvents;
}

}  // namespace

void begin_wait(StreamTiming& of) {
    of.since.waits++;
    if (of.is_at_wait) return;
    if (!of.is_in_flight) {
        of.is_at_wait = true;
        return;
    }
    take_back_burst_budget(of);
    // A call in progress may come before the wait or behind it. Then all of the time counts.
    if (of.on_their_way > 0 || !may_record(of)) return;
    harvest(of);
    of.is_at_wait = has_place_for_wait(of) && add_pacing_event(of, PacingEventAt::wait);
    of.since.has_wait |= !of.is_at_wait;
}

void go_on_behind_wait(StreamTiming& of) {
    if (!of.is_at_wait || !of.is_in_flight) return;
    if (waits_since_ns(of) != 0) return end_interval(of, Ended::looked_at);
    add_pacing_event(of, PacingEventAt::wait_end);
    of.is_at_wait = false;
}

std::int64_t waits_since_ns(const StreamTiming& of) {
    if (!of.is_at_wait || !of.is_in_flight || of.on_their_way > 0) return 0;
    const bool has_reached_all =
        of.pacing_events.ahead == 0 && of.pacing_events.last_reached != nullptr;
    return has_reached_all ? last_pacing_event_reached_ns(of) : 0;
}

}  // namespace tessera::guard

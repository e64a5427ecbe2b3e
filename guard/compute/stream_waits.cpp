#include "guard/compute/stream_waits.hpp"

#include "guard/compute/end_of_work.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/pieces.hpp"

namespace tessera::guard {
namespace {

// With its end, and so that some are left for the marks between launches. Who has given a stream
// more of them is charged by what his launches are in the mean (pauses.hpp).
bool has_place_for_wait(const StreamTiming& of) {
    return of.marks.ahead + 2 <= kMarkPlaces - kMaxMarks;
}

}  // namespace

void begin_wait(StreamTiming& of) {
    of.since.waits++;
    if (of.is_at_wait) return;
    if (!of.is_in_flight) {
        of.is_at_wait = true;
        return;
    }
    take_back_credit(of);
    // What is on its way may come to be before it or behind it: then all counts.
    if (of.on_their_way > 0 || !may_record(of)) return;
    harvest(of);
    of.is_at_wait = has_place_for_wait(of) && add_mark(of, MarkAt::wait);
    of.since.has_wait |= !of.is_at_wait;
}

void go_on_behind_wait(StreamTiming& of) {
    if (!of.is_at_wait || !of.is_in_flight) return;
    if (waits_since_ns(of) != 0) return end_piece(of, Ended::looked_at);
    add_mark(of, MarkAt::wait_end);
    of.is_at_wait = false;
}

std::int64_t waits_since_ns(const StreamTiming& of) {
    if (!of.is_at_wait || !of.is_in_flight || of.on_their_way > 0) return 0;
    const bool has_reached_all = of.marks.ahead == 0 && of.marks.last_reached != nullptr;
    return has_reached_all ? last_mark_reached_ns(of) : 0;
}

}  // namespace tessera::guard

#include "guard/compute/turn.hpp"

#include <algorithm>

#include "guard/compute/gate.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/patience.hpp"
#include "guard/compute/pieces.hpp"
#include "guard/compute/relaxed.hpp"
#include "guard/compute/streams.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/locked.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {
namespace {

// Waits until the stream has done all that it was given, and so knows when that was; until then at
// most.
void drain(const Place& place, std::int64_t until_ns) {
    if (place.of == nullptr) return;
    const Locked lock(timing(place.card).mutex);
    StreamTiming& of = *place.of;
    if (of.generation != place.generation || !of.is_in_flight) return;
    const Relaxed relaxed;
    harvest(of);
    if (!of.is_at_wait && marks_ahead(of) < kMaxMarks) {
        if (is_measured(of) && !is_end_known(of)) record_end(of);
        add_mark(of, MarkAt::launches);
    }
    while (of.marks.ahead > 0) {
        const Passed passed = pass_first_mark(of, until_ns);
        if (passed == Passed::late || passed == Passed::gone) return;
        if (passed == Passed::failed) return end_piece(of);
    }
    end_if_done(of);
}

// What a process's first work is taken to be: by then the arbiter has seen how long it is so far.
constexpr std::int64_t kUnknownNs = 20'000'000;

Asking asking_for(const Place& place, WorkKind kind) {
    const Locked lock(timing(place.card).mutex);
    StreamTiming& of = *place.of;
    if (of.generation != place.generation || of.is_gone) return {kind, 0, 0, true};
    const Relaxed relaxed;
    harvest(of);
    const auto for_launches = [&](int launches) {
        return static_cast<std::int64_t>(of.pace.each_ns * launches);
    };
    const Timing::Flight& flight = timing(place.card).flights[static_cast<int>(kind)];
    std::int64_t about_ns = for_launches(std::max(of.pace.to_mark, 1));
    if (flight.last_ns == 0) about_ns = std::max(about_ns, kUnknownNs);
    return {kind, for_launches(launches_ahead(of)), about_ns, flight.only != &of};
}

}  // namespace

bool has_events() {
    const Driver& real = *driver();
    return real.cuEventCreate && real.cuEventRecord && real.cuEventQuery &&
           real.cuEventElapsedTime && real.cuStreamQuery;
}

bool wait_for_turn(const Place& of, WorkKind kind, const Place& behind) {
    const int card = of.card;
    Asking asking = asking_for(of, kind);
    if (time_to_turn(card, asking) == 0) return true;
    constexpr std::int64_t kLookAgainNs = 500'000;
    const Waiting waiting(card);
    const Patience patience(card);
    look_for_ended_meanwhile(card);
    drain(behind, patience.end_ns());
    bool is_seen = look_for_ended_meanwhile(card);
    asking = {kind, 0, asking.about_ns, true};
    while (const std::int64_t ns = time_to_turn(card, asking)) {
        if (patience.is_over()) return false;
        sleep_ns(is_seen || ns < kLookAgainNs ? ns : kLookAgainNs);
        is_seen = look_for_ended_meanwhile(card);
    }
    return true;
}

}  // namespace tessera::guard

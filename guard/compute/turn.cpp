#include "guard/compute/turn.hpp"

#include <algorithm>

#include "guard/compute/end_of_work.hpp"
#include "guard/compute/gate.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/patience.hpp"
#include "guard/compute/pieces.hpp"
#include "guard/compute/reports.hpp"
#include "guard/compute/stream_ends.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/relaxed.hpp"
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
        if (has_start(of) && !is_end_known(of)) record_end(of);
        add_mark(of, MarkAt::launches);
    }
    while (of.marks.ahead > 0) {
        const Passed passed = pass_first_mark(of, until_ns);
        if (passed == Passed::late || passed == Passed::gone) return;
        if (passed == Passed::failed) return end_piece(of, Ended::looked_at);
    }
    end_if_done(of, Ended::waited_for);
}

// What a process's first work is taken to be, until it has ended or a mark is reached.
constexpr std::int64_t kUnknownNs = kMaxDebtNs;

Asking asking_for(const Place& place, WorkKind kind) {
    const Locked lock(timing(place.card).mutex);
    StreamTiming& of = *place.of;
    if (!place.is_ours()) return {kind, 0, 0, true};
    const Relaxed relaxed;
    harvest(of);
    const Pace& pace = of.pace;
    const Timing::Flight& flight = timing(place.card).flights[static_cast<int>(kind)];
    const auto ahead_ns = static_cast<std::int64_t>(pace.each_ns * launches_ahead(of));
    const auto about_ns =
        static_cast<std::int64_t>(std::max(pace.longest_ns, pace.each_ns * pace.to_mark));
    const bool is_first = kind == WorkKind::kernels && flight.last_ns == 0 && pace.longest_ns == 0;
    return {kind, ahead_ns, is_first ? kUnknownNs : about_ns,
            flight.only != &of || flight.promised > 0};
}

}  // namespace

bool has_events() {
    const Driver& real = *driver();
    return real.cuEventCreate && real.cuEventRecord && real.cuEventQuery &&
           real.cuEventElapsedTime && real.cuStreamQuery;
}

Place wait_for_place(FindPlace find, CUstream stream, const Current& owner) {
    constexpr std::int64_t kLookNs = 1'000'000;
    for (;;) {
        const Place place = find(stream, owner);
        if (place.of != nullptr) return place;
        sleep_ns(kLookNs);
        look_for_ended(owner.card, Ended::looked_at);
    }
}

bool wait_for_turn(const Place& of, WorkKind kind, const Place& behind) {
    const int card = of.card;
    Asking asking = asking_for(of, kind);
    if (take_turn(card, asking) == 0) return true;
    constexpr std::int64_t kLookAgainNs = 500'000;
    const Waiting waiting(card);
    const Patience patience(card);
    look_for_ended_meanwhile(card);
    drain(behind, patience.end_ns());
    bool is_seen = look_for_ended_meanwhile(card);
    asking.ahead_ns = 0;
    asking.may_others_be = true;
    while (const std::int64_t ns = take_turn(card, asking)) {
        if (patience.is_over()) return false;
        sleep_ns(is_seen || ns < kLookAgainNs ? ns : kLookAgainNs);
        is_seen = look_for_ended_meanwhile(card);
    }
    return true;
}

}  // namespace tessera::guard

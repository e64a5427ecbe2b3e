#include "guard/compute/launch_permit.hpp"

#include <algorithm>

#include "guard/base/locked.hpp"
#include "guard/base/relaxed.hpp"
#include "guard/compute/measure/end_of_work.hpp"
#include "guard/compute/measure/pacing_events.hpp"
#include "guard/compute/measure/stream_ends.hpp"
#include "guard/compute/measure/work_intervals.hpp"
#include "guard/compute/permit/gate.hpp"
#include "guard/compute/permit/permit_timeout.hpp"
#include "guard/compute/permit/reports.hpp"
#include "guard/inject/driver.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {
namespace {

// Waits until the stream has done all that it was given, at most until until_ns. So its end is
// known exactly.
void drain(const Place& place, std::int64_t until_ns) {
    if (place.of == nullptr) return;
    const Locked lock(timing(place.gpu).mutex);
    StreamTiming& of = *place.of;
    if (of.generation != place.generation || !of.is_in_flight) return;
    const Relaxed relaxed;
    harvest(of);
    if (!of.is_at_wait && pacing_events_ahead(of) < kMaxPacingEvents) {
        if (has_start(of) && !is_end_known(of)) record_end(of);
        add_pacing_event(of, PacingEventAt::launches);
    }
    while (of.pacing_events.ahead > 0) {
        const Passed passed = pass_first_pacing_event(of, until_ns);
        if (passed == Passed::late || passed == Passed::gone) return;
        if (passed == Passed::failed) return end_interval(of, Ended::looked_at);
    }
    end_if_done(of, Ended::waited_for);
}

// What a process's first work is assumed to take, until it has ended or a pacing event is reached.
constexpr std::int64_t kUnknownNs = kMaxDebtNs;

PermitRequest requesting(const Place& place, WorkKind kind) {
    const Locked lock(timing(place.gpu).mutex);
    StreamTiming& of = *place.of;
    if (!place.is_ours()) return {kind, 0, 0, true};
    const Relaxed relaxed;
    harvest(of);
    const Pace& pace = of.pace;
    const Timing::BusyInterval& busy = timing(place.gpu).busy_intervals[static_cast<int>(kind)];
    const auto ahead_ns = static_cast<std::int64_t>(pace.each_ns * launches_ahead(of));
    const auto about_ns =
        static_cast<std::int64_t>(std::max(pace.longest_ns, pace.each_ns * pace.to_pacing_event));
    const bool is_first = kind == WorkKind::kernels && busy.last_ns == 0 && pace.longest_ns == 0;
    return {kind, ahead_ns, is_first ? kUnknownNs : about_ns, busy.only != &of || busy.permits > 0};
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
        look_for_ended(owner.gpu, Ended::looked_at);
    }
}

bool wait_for_permit(const Place& of, WorkKind kind, const Place& behind) {
    const int gpu = of.gpu;
    PermitRequest request = requesting(of, kind);
    if (acquire_permit(gpu, request) == 0) return true;
    constexpr std::int64_t kLookAgainNs = 500'000;
    const Waiting waiting(gpu);
    const PermitTimeout timeout(gpu);
    look_for_ended_meanwhile(gpu);
    drain(behind, timeout.end_ns());
    bool is_seen = look_for_ended_meanwhile(gpu);
    request.ahead_ns = 0;
    request.may_others_be = true;
    while (const std::int64_t ns = acquire_permit(gpu, request)) {
        if (timeout.is_over()) return false;
        sleep_ns(is_seen || ns < kLookAgainNs ? ns : kLookAgainNs);
        is_seen = look_for_ended_meanwhile(gpu);
    }
    return true;
}

}  // namespace tessera::guard

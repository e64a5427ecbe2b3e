#include "guard/compute/measure/work_intervals.hpp"

#include <algorithm>
#include <cstdint>

#include "guard/base/relaxed.hpp"
#include "guard/compute/measure/busy_intervals.hpp"
#include "guard/compute/measure/elapsed.hpp"
#include "guard/compute/measure/end_of_work.hpp"
#include "guard/compute/measure/gpu_clock.hpp"
#include "guard/compute/measure/in_context.hpp"
#include "guard/compute/measure/lot.hpp"
#include "guard/compute/measure/pacing_events.hpp"
#include "guard/compute/measure/pauses.hpp"
#include "guard/compute/measure/stream_waits.hpp"
#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

// Whether a work interval is measured by events depends on the busy interval before it. It is
// measured if that one was long, because events cost nothing in comparison. It is also measured if
// that one's end was learned late: no thread waited for it, or it had several streams, of which a
// thread waits for one. Of the others, a sample is measured. The rest are assumed to be shorter
// than the clock said by the same amount.
constexpr std::int64_t kLongBusyNs = 500'000;
constexpr std::int64_t kMaxOverheadNs = 1'000'000;

// A work interval that is over.
struct Done {
    Span work;
    // The part of the time until the end was learned that was no work; less than 0: there were no
    // events.
    std::int64_t excess_ns;
};

// A wait for a copy tells that the work before it is over, too. The time that the copy took is not
// the work's, so that overhead is learned separately.
std::int64_t& overhead_ns(const StreamTiming& of, Ended how) {
    Timing::BusyInterval& busy = busy_interval_of(of);
    return how == Ended::waited_for_by_copy ? busy.copy_overhead_ns : busy.wait_overhead_ns;
}

// When the GPU did the work of a work interval that is over. If there are events before and behind
// it, they and the context's clock tell. Otherwise it is the time from the launch until now,
// without the overhead of the way to the GPU and of learning the end. What the stream waited for
// before is not work.
Done done(const StreamTiming& of, std::int64_t now, Ended how) {
    // A program that queries repeatedly learns of the end at once.
    const std::int64_t overhead = how == Ended::asked_after ? 0 : overhead_ns(of, how);
    const std::int64_t until = std::max(now - overhead, of.began_ns);
    const bool has_both = of.start.is_recorded && is_end_known(of);
    const auto took = has_both ? elapsed_ns(of.start.event, of.end.event) : std::nullopt;
    if (!took) return {{of.began_ns, until}, -1};
    const std::int64_t length = std::max(*took, std::int64_t{0});
    const std::int64_t excess = now - of.began_ns - length;
    if (excess < 0) return {{of.began_ns, now}, 0};
    // Work intervals that are not measured do not have the cost of recording the start.
    const std::int64_t took_ns = excess < kMaxOverheadNs ? of.start.took_ns : 0;
    const std::int64_t of_all = std::max(excess - took_ns, std::int64_t{0});
    std::int64_t start = started_at(of);
    // Without a clock, the length of the work is known, but not when it was.
    start = std::clamp(start, of.began_ns, now - length);
    return {{start, start + length}, of_all};
}

// Of a work interval that is over.
std::int64_t pause_since_last_pacing_event(StreamTiming& of, Span work) {
    const int launches = of.since.launches - of.burst_budget.load(std::memory_order_relaxed);
    const std::int64_t first_ns = learn_first(of, is_untold(of));
    std::int64_t start = work.start_ns;
    if (of.pacing_events.last_reached != nullptr) start = last_pacing_event_reached_ns(of);
    if (start != 0 && start < work.end_ns) learn_pace(of, launches, work.end_ns - start);
    if (is_untold(of) || start == 0 || start >= work.end_ns) return 0;
    const bool is_awaited = is_end_awaited(of) && !of.since.has_wait;
    const std::int64_t awaited_ns = is_awaited ? of.end.awaited_ns : work.end_ns;
    start = std::max(start, work.start_ns);
    return take_pause_ns(work_of(of),
                         {{start, work.end_ns}, launches, first_ns, awaited_ns - start});
}

// A longer time means that a thread did not run, or that the stream waited.
void learn_overhead(std::int64_t& known, std::int64_t excess_ns) {
    if (excess_ns < 0 || excess_ns >= kMaxOverheadNs) return;
    // One sample from a thread that was late must not make the next work intervals cheap.
    constexpr std::int64_t kUsualNs = 20'000;
    const std::int64_t at_most = std::min(excess_ns, std::max(2 * known, kUsualNs));
    known = known == 0 ? excess_ns : known + (at_most - known) / 4;
}

// The stream has no work, and keeps its events.
void clear(StreamTiming& of) {
    of.is_in_flight = false;
    of.burst_budget_for.store(BurstBudgetFor::nothing, std::memory_order_relaxed);
    take_back_burst_budget(of);
    of.start = {.event = of.start.event};
    of.end = {.event = of.end.event};
    of.pacing_events.ahead = 0;
    of.pacing_events.last_reached = nullptr;
    of.since.launches = 0;
    of.since.waits = 0;
}

void finish(StreamTiming& of, Span work, bool is_waited_for) {
    busy_interval_of(of).is_waited_for = is_waited_for;
    clear(of);
    leave_busy_interval(of, work);
}

// Whether the work interval that the stream is about to begin is measured, judged by the busy
// interval before it. Returns the number of work intervals that it represents; 0: it is not
// measured.
int draw_interval(const Timing::BusyInterval& busy, const StreamTiming& of) {
    if (busy.streams > 0 || timing(of.gpu).is_dozing.load()) return 1;
    if (busy.last_ns >= kLongBusyNs || busy.only != &of || !busy.is_waited_for) return 1;
    return draw_sample(of.gpu);
}

// `stands_for` is the result of draw_interval().
void begin(StreamTiming& of, WorkKind kind, std::int64_t began_ns, int stands_for) {
    of.kind = kind;
    of.is_in_flight = true;
    of.burst_budget.store(0, std::memory_order_relaxed);
    of.burst_budget_for.store(
        kind == WorkKind::kernels ? BurstBudgetFor::all : BurstBudgetFor::copies,
        std::memory_order_relaxed);
    of.began_ns = began_ns;
    of.stands_for = stands_for;
    join_busy_interval(of);
    begin_stretch(of);
}

void record_start(StreamTiming& of) {
    if (!has_room_for_event(of) || event_in(of.start.event, of) == nullptr) return;
    of.start.clock_ns = set_clock(of, of.began_ns);
    const InContext there(of.context);
    of.start.is_recorded =
        driver()->cuEventRecord(of.start.event, of.stream.load()) == CUDA_SUCCESS;
    of.start.took_ns = monotonic_ns() - of.began_ns;
}

}  // namespace

void end_interval(StreamTiming& of, Ended how) {
    if (!of.is_in_flight) {
        of.since.waits = 0;
        return;
    }
    if (of.start.is_recorded && is_end_known(of))
        note_happened(of, of.end.event, of.start.clock_ns);
    if (of.pacing_events.ahead > 0) {
        const Relaxed relaxed;
        harvest(of);
    }
    Timing::BusyInterval& busy = busy_interval_of(of);
    const std::int64_t now = monotonic_ns();
    const bool is_waited_for = how == Ended::waited_for || how == Ended::waited_for_by_copy;
    auto [work, excess_ns] = done(of, now, how);
    const std::int64_t end_ns = work.end_ns;
    const std::int64_t waits_ns = waits_since_ns(of);
    const int waits_ahead = waits_ns != 0 ? of.since.waits : 0;
    if (waits_ns != 0) {
        work.end_ns = std::clamp(waits_ns, work.start_ns, work.end_ns);
        excess_ns = -1;
    } else {
        work.end_ns -= pause_since_last_pacing_event(of, work);
    }
    // If several were waited for together, only the one that ended last counts. The others ended
    // before the wait did.
    const bool is_last = busy.streams == 1 && end_ns >= busy.last_end_ns;
    std::int64_t& overhead = overhead_ns(of, how);
    if (is_waited_for && is_last) learn_overhead(overhead, excess_ns);
    // The overhead that is deducted is never more than the whole time. If it would be, it is set
    // too high.
    if (is_waited_for && now - overhead < of.began_ns) learn_overhead(overhead, now - of.began_ns);
    busy.last_end_ns = std::max(busy.last_end_ns, end_ns);
    finish(of, work, is_waited_for);
    of.since.waits = waits_ahead;
}

void begin_interval(StreamTiming& of, WorkKind kind, bool is_behind_copies) {
    of.kind = kind;  // busy_interval_of() depends on it
    // Nothing reports that a wait of a stream without work is over, so it is checked here.
    if (!has_room_for_event(of) && is_done(of)) of.since.waits = 0;
    begin(of, kind, monotonic_ns(), draw_interval(busy_interval_of(of), of));
    of.since.is_untold |= is_behind_copies;
    if (is_behind_copies || of.is_at_wait) of.stands_for = std::max(of.stands_for, 1);
    of.is_at_wait = false;
    if (of.stands_for > 0 && !is_behind_copies) record_start(of);
}

void begin_measured_interval(StreamTiming& of, WorkKind kind) {
    begin(of, kind, monotonic_ns(), 1);
    record_start(of);
}

void end_measured_interval(StreamTiming& of, Span work) {
    finish(of, work, true);
}

void record_interval(StreamTiming& of, WorkKind kind, Span work) {
    begin(of, kind, work.start_ns, 1);
    end_measured_interval(of, work);
}

Span measured_work(const StreamTiming& of, std::int64_t now) {
    const auto [work, excess_ns] = done(of, now, Ended::waited_for);
    return excess_ns < 0 ? Span{} : work;
}

void end_if_done(StreamTiming& of, Ended how) {
    if (of.is_in_flight && is_done(of)) end_interval(of, how);
}

void look_whether_begun(StreamTiming& of) {
    if (!of.is_in_flight || !of.start.is_recorded || of.start.is_reached) return;
    const std::int64_t now = monotonic_ns();
    of.start.is_reached = driver()->cuEventQuery(of.start.event) != CUDA_ERROR_NOT_READY;
    if (!of.start.is_reached) begin_later(of, now);
}

bool has_start(const StreamTiming& of) {
    return of.is_in_flight && of.start.is_recorded;
}

}  // namespace tessera::guard

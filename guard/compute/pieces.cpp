#include "guard/compute/pieces.hpp"

#include <algorithm>
#include <cstdint>

#include "guard/compute/card_clock.hpp"
#include "guard/compute/elapsed.hpp"
#include "guard/compute/end_of_work.hpp"
#include "guard/compute/flights.hpp"
#include "guard/compute/in_context.hpp"
#include "guard/compute/lot.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/pauses.hpp"
#include "guard/compute/stream_waits.hpp"
#include "guard/inject/driver.hpp"
#include "guard/process/relaxed.hpp"

namespace tessera::guard {
namespace {

// A flight is measured by events, if the last one was so long that these cost nothing beside it, or
// its end was learnt late: nobody waited for it, or it was of several streams, and who waits does
// so for one. Of others every so many, and the rest are taken to have been as much shorter than the
// clock said.
constexpr std::int64_t kLongFlightNs = 500'000;
constexpr std::int64_t kMaxOverheadNs = 1'000'000;

// Of a piece of work that is over.
struct Done {
    Span work;
    // Of the time until the end was learnt, what was no work; less than 0: there were no events.
    std::int64_t excess_ns;
};

// Of a copy behind a piece of work it is learnt that both are over: what that took is not the
// piece's.
std::int64_t& overhead_ns(const StreamTiming& of, Ended how) {
    Timing::Flight& flight = flight_of(of);
    return how == Ended::waited_for_by_copy ? flight.copy_overhead_ns : flight.wait_overhead_ns;
}

// When the card did a piece of work that is over: by events before and behind it, and the clock of
// its context, or else from its launch until now, but for what it takes to get there and to learn
// of it. What the stream waited for before is no work.
Done done(const StreamTiming& of, std::int64_t now, Ended how) {
    // Who asks again and again learns of it at once.
    const std::int64_t overhead = how == Ended::asked_after ? 0 : overhead_ns(of, how);
    const std::int64_t until = std::max(now - overhead, of.began_ns);
    const bool has_both = of.start.is_recorded && is_end_known(of);
    const auto took = has_both ? elapsed_ns(of.start.event, of.end.event) : std::nullopt;
    if (!took) return {{of.began_ns, until}, -1};
    const std::int64_t length = std::max(*took, std::int64_t{0});
    const std::int64_t excess = now - of.began_ns - length;
    if (excess < 0) return {{of.began_ns, now}, 0};
    // What it took to record the start others do not have.
    const std::int64_t took_ns = excess < kMaxOverheadNs ? of.start.took_ns : 0;
    const std::int64_t of_all = std::max(excess - took_ns, std::int64_t{0});
    std::int64_t start = started_at(of);
    // Without a clock it is not known when, but for how long.
    start = std::clamp(start, of.began_ns, now - length);
    return {{start, start + length}, of_all};
}

// Of a piece that is over.
std::int64_t pause_since_last_mark(StreamTiming& of, Span work) {
    const int launches = of.since.launches - of.credit.load(std::memory_order_relaxed);
    const std::int64_t first_ns = learn_first(of, is_untold(of));
    std::int64_t start = work.start_ns;
    if (of.marks.last_reached != nullptr) start = last_mark_reached_ns(of);
    if (start != 0 && start < work.end_ns) learn_pace(of, launches, work.end_ns - start);
    if (is_untold(of) || start == 0 || start >= work.end_ns) return 0;
    const bool is_awaited = is_end_awaited(of) && !of.since.has_wait;
    const std::int64_t awaited_ns = is_awaited ? of.end.awaited_ns : work.end_ns;
    start = std::max(start, work.start_ns);
    return take_pause_ns(work_of(of),
                         {{start, work.end_ns}, launches, first_ns, awaited_ns - start});
}

// More than that is a thread that was not running, or a stream that waited.
void learn_overhead(std::int64_t& known, std::int64_t excess_ns) {
    if (excess_ns < 0 || excess_ns >= kMaxOverheadNs) return;
    // One of a thread that was late is not to make the next ones cheap.
    constexpr std::int64_t kUsualNs = 20'000;
    const std::int64_t at_most = std::min(excess_ns, std::max(2 * known, kUsualNs));
    known = known == 0 ? excess_ns : known + (at_most - known) / 4;
}

// The stream has no work, and keeps its events.
void clear(StreamTiming& of) {
    of.is_in_flight = false;
    of.credit_for.store(CreditFor::nothing, std::memory_order_relaxed);
    take_back_credit(of);
    of.start = {.event = of.start.event};
    of.end = {.event = of.end.event};
    of.marks.ahead = 0;
    of.marks.last_reached = nullptr;
    of.since.launches = 0;
    of.since.waits = 0;
}

void finish(StreamTiming& of, Span work, bool is_waited_for) {
    flight_of(of).is_waited_for = is_waited_for;
    clear(of);
    leave_flight(of, work);
}

// Whether the piece that the stream is about to begin is measured, by the flight before it: for how
// many pieces it stands then; 0: it is not.
int draw_piece(const Timing::Flight& flight, const StreamTiming& of) {
    if (flight.streams > 0 || timing(of.card).is_dozing.load()) return 1;
    if (flight.last_ns >= kLongFlightNs || flight.only != &of || !flight.is_waited_for) return 1;
    return draw_sample(of.card);
}

// `stands_for` is what draw_piece() says.
void begin(StreamTiming& of, WorkKind kind, std::int64_t began_ns, int stands_for) {
    of.kind = kind;
    of.is_in_flight = true;
    of.credit.store(0, std::memory_order_relaxed);
    of.credit_for.store(kind == WorkKind::kernels ? CreditFor::all : CreditFor::copies,
                        std::memory_order_relaxed);
    of.began_ns = began_ns;
    of.stands_for = stands_for;
    join_flight(of);
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

void end_piece(StreamTiming& of, Ended how) {
    if (!of.is_in_flight) {
        of.since.waits = 0;
        return;
    }
    if (of.start.is_recorded && is_end_known(of)) has_happened(of, of.end.event, of.start.clock_ns);
    if (of.marks.ahead > 0) {
        const Relaxed relaxed;
        harvest(of);
    }
    Timing::Flight& flight = flight_of(of);
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
        work.end_ns -= pause_since_last_mark(of, work);
    }
    // Of those waited for together that which ended last: the others ended before the wait did.
    const bool is_last = flight.streams == 1 && end_ns >= flight.last_end_ns;
    std::int64_t& overhead = overhead_ns(of, how);
    if (is_waited_for && is_last) learn_overhead(overhead, excess_ns);
    // What is taken off is never more than there is: where it would be, it is known too high.
    if (is_waited_for && now - overhead < of.began_ns) learn_overhead(overhead, now - of.began_ns);
    flight.last_end_ns = std::max(flight.last_end_ns, end_ns);
    finish(of, work, is_waited_for);
    of.since.waits = waits_ahead;
}

void begin_piece(StreamTiming& of, WorkKind kind, bool is_behind_copies) {
    of.kind = kind;  // of which flight_of() is
    // What a stream without work waits for is not seen to be over.
    if (!has_room_for_event(of) && is_done(of)) of.since.waits = 0;
    begin(of, kind, monotonic_ns(), draw_piece(flight_of(of), of));
    of.since.is_untold |= is_behind_copies;
    if (is_behind_copies || of.is_at_wait) of.stands_for = std::max(of.stands_for, 1);
    of.is_at_wait = false;
    if (of.stands_for > 0 && !is_behind_copies) record_start(of);
}

void begin_measured_piece(StreamTiming& of, WorkKind kind) {
    begin(of, kind, monotonic_ns(), 1);
    record_start(of);
}

void end_measured_piece(StreamTiming& of, Span work) {
    finish(of, work, true);
}

void note_piece(StreamTiming& of, WorkKind kind, Span work) {
    begin(of, kind, work.start_ns, 1);
    end_measured_piece(of, work);
}

Span measured_work(const StreamTiming& of, std::int64_t now) {
    const auto [work, excess_ns] = done(of, now, Ended::waited_for);
    return excess_ns < 0 ? Span{} : work;
}

void end_if_done(StreamTiming& of, Ended how) {
    if (of.is_in_flight && is_done(of)) end_piece(of, how);
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

#include "guard/compute/pieces.hpp"

#include <algorithm>
#include <cstdint>

#include "guard/compute/gate.hpp"
#include "guard/compute/in_context.hpp"
#include "guard/compute/marks.hpp"
#include "guard/compute/stream_table.hpp"
#include "guard/inject/driver.hpp"
#include "guard/region/grant.hpp"

namespace tessera::guard {
namespace {

// A flight is measured by events, if the last one was so long that these cost nothing beside it, or
// of several streams, whose ends are learnt late: for who waits does so for one. Of others every so
// many, and the rest are taken to have been as much shorter than the clock said.
constexpr std::int64_t kLongFlightNs = 500'000;
constexpr unsigned kSampleEvery = 16;
constexpr std::int64_t kMaxOverheadNs = 1'000'000;

struct End {
    std::int64_t at_ns;
    std::int64_t excess_ns;  // from then until it was learnt; less than 0: not measured
};

Timing::Flight& flight_of(const StreamTiming& of) {
    return timing().flights[of.card][static_cast<int>(of.kind)];
}

// When the card had done a piece of work that is over: by the clock when its flight began, and by
// events from then on. A stream's own beginning is no measure beside others: an event there comes
// when those have done what the stream waits for. Without events now, but for what it takes to
// learn of it. Both without the way of a launch to the card.
End end_of(const StreamTiming& of, std::int64_t now) {
    const Timing::Flight& flight = flight_of(of);
    float ms = 0;
    if (flight.start == nullptr || !is_end_known(of) ||
        driver()->cuEventElapsedTime(&ms, flight.start, of.sample_end) != CUDA_SUCCESS)
        return {now - timing().overhead_ns, -1};
    const std::int64_t excess =
        now - flight.began_ns - static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
    return {excess > 0 ? now - excess : now, excess};
}

// More than that is a thread that was not running.
void learn_overhead(std::int64_t excess_ns) {
    std::int64_t& known = timing().overhead_ns;
    if (excess_ns < 0 || excess_ns >= kMaxOverheadNs) return;
    known = known == 0 ? excess_ns : known + (excess_ns - known) / 4;
}

// Of the pieces in flight the one that began first.
std::int64_t first_began(int card, WorkKind kind) {
    std::int64_t first = INT64_MAX;
    for_each_stream([&](StreamTiming& each) {
        const bool is_of_it = each.is_in_flight && each.card == card && each.kind == kind;
        if (is_of_it && each.began_ns < first) first = each.began_ns;
    });
    return first;
}

void begin(Timing::Flight& flight, const StreamTiming& of, std::int64_t began) {
    flight.is_one_of_several = flight.first != &of;
    flight.first = &of;
    flight.began_ns = began;
    flight.ended_ns = 0;
    flight.start = nullptr;
    begin_flight(of.card, of.kind, began);
}

// What the process had in flight is the union of its streams' pieces. That one has ended may be
// learnt when another has begun already; was there nothing in between, that is two flights.
void note_end(const StreamTiming& of, std::int64_t ended) {
    Timing::Flight& flight = flight_of(of);
    if (ended > flight.ended_ns) flight.ended_ns = ended;
    flight.streams--;
    const std::int64_t next = flight.streams > 0 ? first_began(of.card, of.kind) : 0;
    if (flight.streams > 0 && next <= flight.ended_ns + timing().overhead_ns) return;
    flight.last_ns = flight.ended_ns - flight.began_ns;
    end_flight(of.card, of.kind, flight.ended_ns);
    if (flight.streams == 0) return;
    begin(flight, of, next);
    flight.first = nullptr;
}

void end_piece(StreamTiming& of, bool is_waited_for) {
    if (!of.is_in_flight) return;
    const Timing::Flight& flight = flight_of(of);
    const std::int64_t now = monotonic_ns();
    const End end = end_of(of, now);
    // Of those waited for together that which ended last: the others ended before the wait did.
    const bool is_last = flight.streams == 1 && end.at_ns >= flight.ended_ns;
    if (is_waited_for && is_last) learn_overhead(end.excess_ns);
    // What is taken off is never more than there is: where it would be, it is known too high.
    if (is_waited_for && end.at_ns < flight.began_ns) learn_overhead(now - flight.began_ns);
    of.is_in_flight = false;
    of.credit.store(0, std::memory_order_relaxed);
    of.mark_count = 0;
    of.since_mark = 0;
    of.has_last = false;
    of.is_end_recorded = false;
    note_end(of, std::max(end.at_ns, of.began_ns));
}

}  // namespace

void begin_piece(StreamTiming& of, WorkKind kind) {
    of.is_in_flight = true;
    of.kind = kind;
    of.began_ns = monotonic_ns();
    of.has_last = false;
    of.is_end_recorded = false;
    Timing::Flight& flight = flight_of(of);
    if (flight.streams++ > 0) {
        flight.first = nullptr;
        return;
    }
    begin(flight, of, of.began_ns);
    const bool is_costly = flight.last_ns < kLongFlightNs && !flight.is_one_of_several;
    if (is_costly && timing().flights_total++ % kSampleEvery != 0) return;
    if (event_in(of.sample_start, of) == nullptr) return;
    measure_nothing_from(of);  // as work of the other kind may be still
    if (driver()->cuEventRecord(of.sample_start, of.stream.load()) == CUDA_SUCCESS)
        flight.start = of.sample_start;
}

void end_piece(StreamTiming& of) {
    end_piece(of, false);
}

void end_waited_for(StreamTiming& of) {
    if (of.on_their_way == 0) end_piece(of, true);
}

bool is_done(const StreamTiming& of) {
    if (of.on_their_way > 0) return false;
    if (of.is_left) return driver()->cuEventQuery(of.sample_end) != CUDA_ERROR_NOT_READY;
    return driver()->cuStreamQuery(of.stream.load()) == CUDA_SUCCESS;
}

bool is_end_known(const StreamTiming& of) {
    return of.is_end_recorded && of.end_credit == of.credit.load(std::memory_order_relaxed);
}

bool record_end(StreamTiming& of) {
    of.is_end_recorded = event_in(of.sample_end, of) != nullptr &&
                         driver()->cuEventRecord(of.sample_end, of.stream.load()) == CUDA_SUCCESS;
    of.end_credit = of.credit.load(std::memory_order_relaxed);
    return of.is_end_recorded;
}

bool is_measured(const StreamTiming& of) {
    return of.is_in_flight && flight_of(of).start != nullptr;
}

bool record_leaving(StreamTiming& of) {
    const InContext there(of.context);
    of.is_left = record_end(of);
    return of.is_left;
}

}  // namespace tessera::guard

#include "guard/compute/flights.hpp"

#include <algorithm>
#include <cstdint>

#include "guard/compute/order.hpp"
#include "guard/compute/outstanding.hpp"
#include "guard/compute/reports.hpp"
#include "guard/compute/stream_table.hpp"

namespace tessera::guard {
namespace {

// Of the pieces in flight the one that began first; later than any where there is none.
std::int64_t first_began(int card, WorkKind kind) {
    std::int64_t first = INT64_MAX;
    for_each_stream(card, [&](StreamTiming& each) {
        const bool is_of_it = each.is_in_flight && each.kind == kind;
        if (is_of_it && each.began_ns < first) first = each.began_ns;
    });
    return first;
}

void join(Span& span, const Span& with) {
    span.start_ns = std::min(span.start_ns, with.start_ns);
    span.end_ns = std::max(span.end_ns, with.end_ns);
}

void take_out(Timing::Flight& flight, int place) {
    for (int i = place + 1; i < flight.ended_count; i++)
        flight.ended[i - 1] = flight.ended[i];
    flight.ended_count--;
}

// Where there is no place for one more the nearest two become one, with the time between them.
void make_place(Timing::Flight& flight) {
    if (flight.ended_count < kMaxEnded) return;
    const auto gap_behind = [&](int i) {
        return flight.ended[i + 1].start_ns - flight.ended[i].end_ns;
    };
    int nearest = 0;
    for (int i = 1; i + 1 < flight.ended_count; i++)
        if (gap_behind(i) < gap_behind(nearest)) nearest = i;
    join(flight.ended[nearest], flight.ended[nearest + 1]);
    take_out(flight, nearest + 1);
}

void add(Timing::Flight& flight, Span work) {
    for (int i = flight.ended_count; i-- > 0;) {
        const Span& each = flight.ended[i];
        if (each.start_ns > work.end_ns || work.start_ns > each.end_ns) continue;
        join(work, each);
        take_out(flight, i);
    }
    make_place(flight);
    int place = flight.ended_count++;
    for (; place > 0 && flight.ended[place - 1].start_ns > work.start_ns; place--)
        flight.ended[place] = flight.ended[place - 1];
    flight.ended[place] = work;
}

// What is before the first piece in flight will not change any more.
void settle(const StreamTiming& of) {
    Timing::Flight& flight = flight_of(of);
    const std::int64_t until = first_began(of.card, of.kind);
    note_in_flight(of.card, of.kind, flight.streams > 0 ? until : 0);
    while (flight.ended_count > 0 && flight.ended[0].start_ns < until) {
        Span& first = flight.ended[0];
        const Span known = {std::max(first.start_ns, flight.settled_ns),
                            std::min(first.end_ns, until)};
        if (known.start_ns < known.end_ns) note_work(of.card, of.kind, known);
        if (first.end_ns > until) {
            first.start_ns = until;
            break;
        }
        take_out(flight, 0);
    }
    flight.settled_ns = until;
}

}  // namespace

int streams_in_flight(int card) {
    const auto& flights = timing(card).flights;
    return flights[0].streams + flights[1].streams;
}

Timing::Flight& flight_of(const StreamTiming& of) {
    return timing(of.card).flights[static_cast<int>(of.kind)];
}

void join_flight(const StreamTiming& of) {
    Timing::Flight& flight = flight_of(of);
    flight.joined++;
    if (flight.streams++ > 0) {
        flight.only = nullptr;
        return;
    }
    flight.only = &of;
    flight.began_ns = of.began_ns;
    flight.settled_ns = of.began_ns;
    flight.ended_count = 0;
    flight.last_end_ns = 0;
    note_seen(of.card, of.began_ns);
    note_in_flight(of.card, of.kind, of.began_ns);
}

void leave_flight(const StreamTiming& of, Span work) {
    Timing::Flight& flight = flight_of(of);
    flight.streams--;
    flight.last_end_ns = std::max(flight.last_end_ns, work.end_ns);
    add(flight, work);
    settle(of);
    if (flight.streams > 0) return;
    flight.last_ns = monotonic_ns() - flight.began_ns;
    if (flight.promised == 0) expect_nothing(of.card, of.kind);
    // The process may never ask again.
    if (flight.last_ns >= kLeastOutstandingNs) note_had(of.card, of.kind, monotonic_ns());
}

void keep_promise(int card, WorkKind kind) {
    Timing::Flight& flight = timing(card).flights[static_cast<int>(kind)];
    if (flight.promised > 0) flight.promised--;
    if (flight.promised == 0 && flight.streams == 0) expect_nothing(card, kind);
}

void pause(StreamTiming& of, Span without) {
    add(flight_of(of), {of.began_ns, without.start_ns});
    of.began_ns = without.end_ns;
    settle(of);
}

void begin_later(StreamTiming& of, std::int64_t ns) {
    of.began_ns = ns;
    settle(of);
}

}  // namespace tessera::guard

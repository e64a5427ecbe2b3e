#include "guard/compute/measure/busy_intervals.hpp"

#include <algorithm>
#include <cstdint>

#include "guard/compute/measure/stream_table.hpp"
#include "guard/compute/permit/order.hpp"
#include "guard/compute/permit/outstanding.hpp"
#include "guard/compute/permit/reports.hpp"

namespace tessera::guard {
namespace {

// When the first of the work intervals in flight began. INT64_MAX if there is none.
std::int64_t first_began(int gpu, WorkKind kind) {
    std::int64_t first = INT64_MAX;
    for_each_stream(gpu, [&](StreamTiming& each) {
        const bool is_of_it = each.is_in_flight && each.kind == kind;
        if (is_of_it && each.began_ns < first) first = each.began_ns;
    });
    return first;
}

void join(Span& span, const Span& with) {
    span.start_ns = std::min(span.start_ns, with.start_ns);
    span.end_ns = std::max(span.end_ns, with.end_ns);
}

void take_out(Timing::BusyInterval& busy, int place) {
    for (int i = place + 1; i < busy.ended_count; i++)
        busy.ended[i - 1] = busy.ended[i];
    busy.ended_count--;
}

// If there is no place for one more, the nearest two are joined, with the time between them.
void make_place(Timing::BusyInterval& busy) {
    if (busy.ended_count < kMaxEnded) return;
    const auto gap_behind = [&](int i) {
        return busy.ended[i + 1].start_ns - busy.ended[i].end_ns;
    };
    int nearest = 0;
    for (int i = 1; i + 1 < busy.ended_count; i++)
        if (gap_behind(i) < gap_behind(nearest)) nearest = i;
    join(busy.ended[nearest], busy.ended[nearest + 1]);
    take_out(busy, nearest + 1);
}

void add(Timing::BusyInterval& busy, Span work) {
    for (int i = busy.ended_count; i-- > 0;) {
        const Span& each = busy.ended[i];
        if (each.start_ns > work.end_ns || work.start_ns > each.end_ns) continue;
        join(work, each);
        take_out(busy, i);
    }
    make_place(busy);
    int place = busy.ended_count++;
    for (; place > 0 && busy.ended[place - 1].start_ns > work.start_ns; place--)
        busy.ended[place] = busy.ended[place - 1];
    busy.ended[place] = work;
}

// The time before the first work interval in flight will not change any more.
void settle(const StreamTiming& of) {
    Timing::BusyInterval& busy = busy_interval_of(of);
    const std::int64_t until = first_began(of.gpu, of.kind);
    note_in_flight(of.gpu, of.kind, busy.streams > 0 ? until : 0);
    while (busy.ended_count > 0 && busy.ended[0].start_ns < until) {
        Span& first = busy.ended[0];
        const Span known = {std::max(first.start_ns, busy.settled_ns),
                            std::min(first.end_ns, until)};
        if (known.start_ns < known.end_ns) note_work(of.gpu, of.kind, known);
        if (first.end_ns > until) {
            first.start_ns = until;
            break;
        }
        take_out(busy, 0);
    }
    busy.settled_ns = until;
}

}  // namespace

int streams_in_flight(int gpu) {
    const auto& busy_intervals = timing(gpu).busy_intervals;
    return busy_intervals[0].streams + busy_intervals[1].streams;
}

Timing::BusyInterval& busy_interval_of(const StreamTiming& of) {
    return timing(of.gpu).busy_intervals[static_cast<int>(of.kind)];
}

void join_busy_interval(const StreamTiming& of) {
    Timing::BusyInterval& busy = busy_interval_of(of);
    busy.joined++;
    if (busy.streams++ > 0) {
        busy.only = nullptr;
        return;
    }
    busy.only = &of;
    busy.began_ns = of.began_ns;
    busy.settled_ns = of.began_ns;
    busy.ended_count = 0;
    busy.last_end_ns = 0;
    note_seen(of.gpu, of.began_ns);
    note_in_flight(of.gpu, of.kind, of.began_ns);
}

void leave_busy_interval(const StreamTiming& of, Span work) {
    Timing::BusyInterval& busy = busy_interval_of(of);
    busy.streams--;
    busy.last_end_ns = std::max(busy.last_end_ns, work.end_ns);
    add(busy, work);
    settle(of);
    if (busy.streams > 0) return;
    busy.last_ns = monotonic_ns() - busy.began_ns;
    if (busy.permits == 0) expect_nothing(of.gpu, of.kind);
    // The process may never ask for a permit again.
    if (busy.last_ns >= kLeastOutstandingNs) note_had(of.gpu, of.kind, monotonic_ns());
}

void end_permit(int gpu, WorkKind kind) {
    Timing::BusyInterval& busy = timing(gpu).busy_intervals[static_cast<int>(kind)];
    if (busy.permits > 0) busy.permits--;
    if (busy.permits == 0 && busy.streams == 0) expect_nothing(gpu, kind);
}

void pause(StreamTiming& of, Span without) {
    add(busy_interval_of(of), {of.began_ns, without.start_ns});
    of.began_ns = without.end_ns;
    settle(of);
}

void begin_later(StreamTiming& of, std::int64_t ns) {
    of.began_ns = ns;
    settle(of);
}

}  // namespace tessera::guard

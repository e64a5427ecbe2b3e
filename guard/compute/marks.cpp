#include "guard/compute/marks.hpp"

#include <algorithm>

#include "guard/compute/card_clock.hpp"
#include "guard/compute/elapsed.hpp"
#include "guard/compute/flights.hpp"
#include "guard/compute/gate.hpp"
#include "guard/compute/in_context.hpp"
#include "guard/compute/lot.hpp"
#include "guard/compute/pauses.hpp"
#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

// A wait for an event has no end of its own, so it is asked for.
constexpr std::int64_t kFirstPauseNs = 20'000;
constexpr std::int64_t kLongestPauseNs = 500'000;

// Among short launches a long one may come again.
void note_length(Pace& pace, double each_ns) {
    constexpr double kKeep = 7.0 / 8;
    pace.longest_ns = std::max(each_ns, pace.longest_ns * kKeep);
}

// So that the next mark is as far away as it should be.
void learn_batch(StreamTiming& of, int launches, std::int64_t ns) {
    if (launches == 0) return;
    const double each_ns = static_cast<double>(ns) / launches;
    of.pace.each_ns = each_ns;
    note_length(of.pace, each_ns);
    const double wanted = each_ns > 1 ? static_cast<double>(kMarkNs) / each_ns : kMaxBatch;
    const int most = std::min(2 * of.pace.batch, kMaxBatch);
    of.pace.batch = wanted < 1 ? 1 : wanted > most ? most : static_cast<int>(wanted);
}

int mark_place(const StreamTiming& of, int number) {
    return (of.marks.first + number + kMarkPlaces + 1) % (kMarkPlaces + 1);
}

// Less than 0: it is not known.
std::int64_t between_ns(CUevent start, CUevent end) {
    return elapsed_ns(start, end).value_or(-1);
}

// When the mark was reached; 0: it cannot be told.
std::int64_t reached_at(const StreamTiming& of, const Mark& mark) {
    const std::int64_t ns = happened_at(of, mark.event, mark.clock_ns);
    if (ns == 0) return 0;
    if (ns < mark.recorded_ns) is_too_soon(of, mark.recorded_ns - ns);
    return std::clamp(ns, mark.recorded_ns, monotonic_ns());
}

// The mark is where the stream's work begins, and was reached when it had had none for so long.
void begin_at(StreamTiming& of, Mark& mark, std::int64_t reached_ns, std::int64_t without_ns) {
    pause(of, {reached_ns - without_ns, reached_ns});
    std::swap(of.start.event, mark.event);
    of.start.clock_ns = mark.clock_ns;
    of.start.is_recorded = true;
    of.start.is_reached = true;
    of.start.took_ns = 0;
}

// What the program was late in before the mark is no work of the stream's. `ns`: since the mark
// before, or the beginning; less than 0: not known.
void leave_out_pause(StreamTiming& of, Mark& mark, std::int64_t ns, std::int64_t first_ns) {
    const std::int64_t reached_ns = reached_at(of, mark);
    if (reached_ns == 0) return;
    const std::int64_t longest = reached_ns - of.began_ns;
    const std::int64_t length = ns < 0 || ns > longest ? longest : ns;
    const Span span = {reached_ns - length, reached_ns};
    std::int64_t pause_at_most = mark.is_ahead ? 0 : mark.recorded_ns - span.start_ns;
    if (mark.has_wait) pause_at_most = length;
    const std::int64_t without =
        take_pause_ns(work_of(of), {span, mark.launches, first_ns, pause_at_most});
    if (without != 0) begin_at(of, mark, reached_ns, without);
}

// What the stream waited for between the mark before and this one is no work of its.
void leave_out_wait(StreamTiming& of, Mark& mark, std::int64_t ns) {
    const std::int64_t reached_ns = reached_at(of, mark);
    if (reached_ns == 0 || ns < 0) return;
    // Some of it may be left out already.
    const std::int64_t since_ns = std::max(reached_ns, of.began_ns);
    begin_at(of, mark, since_ns, std::min(ns, since_ns - of.began_ns));
}

// It has reached the mark before what it waits for, and not the one behind that.
void leave_out_wait_so_far(StreamTiming& of, std::int64_t now) {
    const std::int64_t since_ns = last_mark_reached_ns(of);
    if (since_ns != 0 && of.began_ns < now)
        pause(of, {std::clamp(since_ns, of.began_ns, now), now});
}

// What the stream waited for before its first work is no work.
// `ns`: from there to a mark that is reached.
void leave_out_first_wait(StreamTiming& of, std::int64_t ns) {
    const std::int64_t start = std::min(started_at(of), monotonic_ns() - ns);
    if (start > of.began_ns) begin_later(of, start);
    of.start.is_reached = true;
}

void reach(StreamTiming& of, Mark& mark) {
    const std::int64_t first_ns = learn_first(of, mark.is_untold);
    const bool is_first = of.marks.last_reached == nullptr;
    const bool is_at_beginning = is_first && mark.launches == 0;
    CUevent before = is_first && of.start.is_recorded ? of.start.event : of.marks.last_reached;
    const std::int64_t ns = before != nullptr ? between_ns(before, mark.event) : -1;
    if (!is_first && ns >= 0) learn_batch(of, mark.launches, ns);
    if (is_first) {
        learn_pace(of, mark.launches, ns);
        if (ns >= 0) leave_out_first_wait(of, ns);
    }
    of.marks.last_reached = mark.event;
    of.stands_for = 1;
    if (mark.at == MarkAt::wait_end) return leave_out_wait(of, mark, ns);
    if (!mark.is_untold && !is_at_beginning) leave_out_pause(of, mark, ns, first_ns);
}

}  // namespace

CUevent event_in(CUevent& place, const StreamTiming& of) {
    if (place != nullptr) return place;
    const InContext there(of.context);
    if (driver()->cuEventCreate(&place, CU_EVENT_DEFAULT) != CUDA_SUCCESS) place = nullptr;
    return place;
}

CUresult harvest(StreamTiming& of) {
    CUresult asked = CUDA_SUCCESS;
    std::int64_t asked_ns = 0;
    int reached = 0;
    for (; reached < of.marks.ahead; reached++) {
        const Mark& mark = of.marks.places[mark_place(of, reached)];
        if (mark.at == MarkAt::wait_end) asked_ns = monotonic_ns();
        asked = driver()->cuEventQuery(mark.event);
        if (asked != CUDA_SUCCESS) break;
    }
    if (reached > 0) {
        const Mark& last = of.marks.places[mark_place(of, reached - 1)];
        has_happened(of, last.event, last.clock_ns);
    }
    for (; reached > 0; reached--) {
        reach(of, of.marks.places[mark_place(of, 0)]);
        of.marks.first = mark_place(of, 1);
        of.marks.ahead--;
    }
    const bool is_waiting =
        asked == CUDA_ERROR_NOT_READY && of.marks.places[mark_place(of, 0)].at == MarkAt::wait_end;
    if (is_waiting) leave_out_wait_so_far(of, asked_ns);
    return asked;
}

bool add_mark(StreamTiming& of, MarkAt at) {
    Mark& mark = of.marks.places[mark_place(of, of.marks.ahead)];
    if (of.marks.ahead == kMarkPlaces || !has_room_for_event(of)) return false;
    if (event_in(mark.event, of) == nullptr) return false;
    mark.at = at;
    mark.recorded_ns = monotonic_ns();
    mark.clock_ns = set_clock(of, mark.recorded_ns);
    if (driver()->cuEventRecord(mark.event, of.stream.load()) != CUDA_SUCCESS) return false;
    const int credit = of.credit.load(std::memory_order_relaxed);
    mark.launches = std::max(of.since.launches - credit, 0);
    mark.waits = of.since.waits;
    mark.is_ahead = of.marks.ahead > 0;
    mark.is_untold = is_untold(of);
    mark.has_wait = of.since.has_wait;
    mark.has_next = false;
    of.marks.ahead++;
    of.marks.added++;
    of.since.launches = credit;
    of.since.waits = 0;
    begin_stretch(of);
    return true;
}

int marks_ahead(const StreamTiming& of) {
    int count = 0;
    for (int i = 0; i < of.marks.ahead; i++)
        if (of.marks.places[mark_place(of, i)].at == MarkAt::launches) count++;
    return count;
}

void note_launched_behind_mark(StreamTiming& of, int stands_for) {
    // A call that takes longer is not the card's work all that time: it was kept from running, or
    // it has much to do before.
    constexpr std::int64_t kPromptNs = 100'000;
    Mark& mark = of.marks.places[mark_place(of, of.marks.ahead - 1)];
    mark.has_next = has_room_for_event(of) && event_in(mark.behind_next, of) != nullptr &&
                    driver()->cuEventRecord(mark.behind_next, of.stream.load()) == CUDA_SUCCESS;
    const std::int64_t ns = monotonic_ns() - mark.recorded_ns;
    mark.late_ns = ns < kPromptNs ? 0 : ns;
    mark.stands_for = stands_for;
}

void draw_next_mark(StreamTiming& of) {
    const int either_side = of.pace.batch < 2 ? 0 : std::max(of.pace.batch / 4, 1);
    if (of.pace.to_mark > 0 && of.pace.to_mark <= of.pace.batch + either_side) return;
    const auto places = static_cast<std::uint32_t>(2 * either_side + 1);
    of.pace.to_mark = of.pace.batch - either_side + static_cast<int>(draw(of.card, places));
}

std::int64_t started_at(const StreamTiming& of) {
    const std::int64_t ns = happened_at(of, of.start.event, of.start.clock_ns);
    if (ns != 0 && ns < of.began_ns) is_too_soon(of, of.began_ns - ns);
    return ns;
}

std::int64_t last_mark_reached_ns(const StreamTiming& of) {
    return happened_at(of, of.marks.last_reached, of.marks.places[mark_place(of, -1)].clock_ns);
}

std::int64_t learn_first(StreamTiming& of, bool is_untold) {
    const Mark& last = of.marks.places[mark_place(of, -1)];
    if (of.marks.last_reached == nullptr || !last.has_next || is_untold) return -1;
    const std::int64_t ns = between_ns(of.marks.last_reached, last.behind_next);
    if (ns < 0) return ns;
    const std::int64_t first_ns = std::max(ns - last.late_ns, std::int64_t{0});
    learn_launch(work_of(of), first_ns, last.stands_for);
    return first_ns;
}

void learn_pace(StreamTiming& of, int launches, std::int64_t ns) {
    if (launches <= 0 || ns < 0) return;
    if (ns / launches > kMarkNs / of.pace.batch) return learn_batch(of, launches, ns);
    note_length(of.pace, static_cast<double>(ns) / launches);
}

Passed pass_first_mark(StreamTiming& of, std::int64_t until_ns) {
    const std::uint64_t generation = of.generation;
    std::int64_t pause_ns = kFirstPauseNs;
    for (;;) {
        const int before = of.marks.ahead;
        const CUresult first = harvest(of);
        if (of.marks.ahead < before || of.marks.ahead == 0) return Passed::reached;
        if (first != CUDA_ERROR_NOT_READY) return Passed::failed;
        if (monotonic_ns() >= until_ns) return Passed::late;
        pthread_mutex_unlock(&timing(of.card).mutex);
        sleep_ns(pause_ns);
        pthread_mutex_lock(&timing(of.card).mutex);
        if (of.generation != generation || is_gone(of)) return Passed::gone;
        pause_ns = pause_ns * 2 < kLongestPauseNs ? pause_ns * 2 : kLongestPauseNs;
    }
}

void take_back_credit(StreamTiming& of) {
    const int left = of.credit.exchange(0, std::memory_order_relaxed);
    of.pace.to_mark += left;
    of.since.launches -= left;
}

int launches_ahead(const StreamTiming& of) {
    const int credit = of.credit.load(std::memory_order_relaxed);
    int launches = of.is_in_flight ? of.since.launches - credit : 0;
    for (int i = 0; i < of.marks.ahead; i++)
        launches += of.marks.places[mark_place(of, i)].launches;
    return launches;
}

int calls_ahead(const StreamTiming& of) {
    int calls = launches_ahead(of) + of.since.waits;
    for (int i = 0; i < of.marks.ahead; i++)
        calls += of.marks.places[mark_place(of, i)].waits;
    return calls;
}

bool has_room_for_event(const StreamTiming& of) {
    return calls_ahead(of) <= kMostAhead;
}

}  // namespace tessera::guard

#include "guard/compute/measure/pacing_events.hpp"

#include <algorithm>

#include "guard/compute/measure/busy_intervals.hpp"
#include "guard/compute/measure/elapsed.hpp"
#include "guard/compute/measure/gpu_clock.hpp"
#include "guard/compute/measure/in_context.hpp"
#include "guard/compute/measure/lot.hpp"
#include "guard/compute/measure/pauses.hpp"
#include "guard/compute/permit/gate.hpp"
#include "guard/inject/driver.hpp"

namespace tessera::guard {
namespace {

// A wait for an event cannot have a timeout, so we poll.
constexpr std::int64_t kFirstPauseNs = 20'000;
constexpr std::int64_t kLongestPauseNs = 500'000;

// Among short launches a long one may come again.
void note_length(Pace& pace, double each_ns) {
    constexpr double kKeep = 7.0 / 8;
    pace.longest_ns = std::max(each_ns, pace.longest_ns * kKeep);
}

// Keeps the next pacing event as far away as it should be.
void learn_batch(StreamTiming& of, int launches, std::int64_t ns) {
    if (launches == 0) return;
    const double each_ns = static_cast<double>(ns) / launches;
    of.pace.each_ns = each_ns;
    note_length(of.pace, each_ns);
    const double wanted = each_ns > 1 ? static_cast<double>(kPacingEventNs) / each_ns : kMaxBatch;
    const int most = std::min(2 * of.pace.batch, kMaxBatch);
    of.pace.batch = wanted < 1 ? 1 : wanted > most ? most : static_cast<int>(wanted);
}

int pacing_event_place(const StreamTiming& of, int number) {
    return (of.pacing_events.first + number + kPacingEventPlaces + 1) % (kPacingEventPlaces + 1);
}

// Less than 0: not known.
std::int64_t between_ns(CUevent start, CUevent end) {
    return elapsed_ns(start, end).value_or(-1);
}

// When the pacing event was reached. 0: not known.
std::int64_t reached_at(const StreamTiming& of, const PacingEvent& pacing_event) {
    const std::int64_t ns = happened_at(of, pacing_event.event, pacing_event.clock_ns);
    if (ns == 0) return 0;
    if (ns < pacing_event.recorded_ns) note_too_soon(of, pacing_event.recorded_ns - ns);
    return std::clamp(ns, pacing_event.recorded_ns, monotonic_ns());
}

// The stream's work begins at this pacing event. Before it was reached, the stream had no work for
// without_ns.
void begin_at(StreamTiming& of, PacingEvent& pacing_event, std::int64_t reached_ns,
              std::int64_t without_ns) {
    pause(of, {reached_ns - without_ns, reached_ns});
    std::swap(of.start.event, pacing_event.event);
    of.start.clock_ns = pacing_event.clock_ns;
    of.start.is_recorded = true;
    of.start.is_reached = true;
    of.start.took_ns = 0;
}

// The time in which the program was late before the pacing event is not the stream's work. `ns` is
// the time since the pacing event before, or since the beginning; less than 0: not known.
void leave_out_pause(StreamTiming& of, PacingEvent& pacing_event, std::int64_t ns,
                     std::int64_t first_ns) {
    const std::int64_t reached_ns = reached_at(of, pacing_event);
    if (reached_ns == 0) return;
    const std::int64_t longest = reached_ns - of.began_ns;
    const std::int64_t length = ns < 0 || ns > longest ? longest : ns;
    const Span span = {reached_ns - length, reached_ns};
    std::int64_t pause_at_most =
        pacing_event.is_ahead ? 0 : pacing_event.recorded_ns - span.start_ns;
    if (pacing_event.has_wait) pause_at_most = length;
    const std::int64_t without =
        take_pause_ns(work_of(of), {span, pacing_event.launches, first_ns, pause_at_most});
    if (without != 0) begin_at(of, pacing_event, reached_ns, without);
}

// The time that the stream waited between the pacing event before and this one is not its work.
void leave_out_wait(StreamTiming& of, PacingEvent& pacing_event, std::int64_t ns) {
    const std::int64_t reached_ns = reached_at(of, pacing_event);
    if (reached_ns == 0 || ns < 0) return;
    // Some of it may be left out already.
    const std::int64_t since_ns = std::max(reached_ns, of.began_ns);
    begin_at(of, pacing_event, since_ns, std::min(ns, since_ns - of.began_ns));
}

// The stream has reached the pacing event before its wait, and not the one behind it.
void leave_out_wait_so_far(StreamTiming& of, std::int64_t now) {
    const std::int64_t since_ns = last_pacing_event_reached_ns(of);
    if (since_ns != 0 && of.began_ns < now)
        pause(of, {std::clamp(since_ns, of.began_ns, now), now});
}

// The time that the stream waited before its first work is not work.
// `ns` is the time from the first work to a pacing event that is reached.
void leave_out_first_wait(StreamTiming& of, std::int64_t ns) {
    const std::int64_t start = std::min(started_at(of), monotonic_ns() - ns);
    if (start > of.began_ns) begin_later(of, start);
    of.start.is_reached = true;
}

void reach(StreamTiming& of, PacingEvent& pacing_event) {
    const std::int64_t first_ns = learn_first(of, pacing_event.is_untold);
    const bool is_first = of.pacing_events.last_reached == nullptr;
    const bool is_at_beginning = is_first && pacing_event.launches == 0;
    CUevent before =
        is_first && of.start.is_recorded ? of.start.event : of.pacing_events.last_reached;
    const std::int64_t ns = before != nullptr ? between_ns(before, pacing_event.event) : -1;
    if (!is_first && ns >= 0) learn_batch(of, pacing_event.launches, ns);
    if (is_first) {
        learn_pace(of, pacing_event.launches, ns);
        if (ns >= 0) leave_out_first_wait(of, ns);
    }
    of.pacing_events.last_reached = pacing_event.event;
    of.stands_for = 1;
    if (pacing_event.at == PacingEventAt::wait_end) return leave_out_wait(of, pacing_event, ns);
    if (!pacing_event.is_untold && !is_at_beginning)
        leave_out_pause(of, pacing_event, ns, first_ns);
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
    for (; reached < of.pacing_events.ahead; reached++) {
        const PacingEvent& pacing_event = of.pacing_events.places[pacing_event_place(of, reached)];
        if (pacing_event.at == PacingEventAt::wait_end) asked_ns = monotonic_ns();
        asked = driver()->cuEventQuery(pacing_event.event);
        if (asked != CUDA_SUCCESS) break;
    }
    if (reached > 0) {
        const PacingEvent& last = of.pacing_events.places[pacing_event_place(of, reached - 1)];
        note_happened(of, last.event, last.clock_ns);
    }
    for (; reached > 0; reached--) {
        reach(of, of.pacing_events.places[pacing_event_place(of, 0)]);
        of.pacing_events.first = pacing_event_place(of, 1);
        of.pacing_events.ahead--;
    }
    const bool is_waiting =
        asked == CUDA_ERROR_NOT_READY &&
        of.pacing_events.places[pacing_event_place(of, 0)].at == PacingEventAt::wait_end;
    if (is_waiting) leave_out_wait_so_far(of, asked_ns);
    return asked;
}

bool add_pacing_event(StreamTiming& of, PacingEventAt at) {
    PacingEvent& pacing_event =
        of.pacing_events.places[pacing_event_place(of, of.pacing_events.ahead)];
    if (of.pacing_events.ahead == kPacingEventPlaces || !has_room_for_event(of)) return false;
    if (event_in(pacing_event.event, of) == nullptr) return false;
    pacing_event.at = at;
    pacing_event.recorded_ns = monotonic_ns();
    pacing_event.clock_ns = set_clock(of, pacing_event.recorded_ns);
    if (driver()->cuEventRecord(pacing_event.event, of.stream.load()) != CUDA_SUCCESS) return false;
    const int burst_budget = of.burst_budget.load(std::memory_order_relaxed);
    pacing_event.launches = std::max(of.since.launches - burst_budget, 0);
    pacing_event.waits = of.since.waits;
    pacing_event.is_ahead = of.pacing_events.ahead > 0;
    pacing_event.is_untold = is_untold(of);
    pacing_event.has_wait = of.since.has_wait;
    pacing_event.has_next = false;
    of.pacing_events.ahead++;
    of.pacing_events.added++;
    of.since.launches = burst_budget;
    of.since.waits = 0;
    begin_stretch(of);
    return true;
}

int pacing_events_ahead(const StreamTiming& of) {
    int count = 0;
    for (int i = 0; i < of.pacing_events.ahead; i++) {
        if (of.pacing_events.places[pacing_event_place(of, i)].at == PacingEventAt::launches)
            count++;
    }
    return count;
}

void record_launched_behind_pacing_event(StreamTiming& of, int stands_for) {
    // A call that takes longer was kept from running, or has much to do first. Not all of that time
    // is the GPU's work.
    constexpr std::int64_t kPromptNs = 100'000;
    PacingEvent& pacing_event =
        of.pacing_events.places[pacing_event_place(of, of.pacing_events.ahead - 1)];
    pacing_event.has_next =
        has_room_for_event(of) && event_in(pacing_event.behind_next, of) != nullptr &&
        driver()->cuEventRecord(pacing_event.behind_next, of.stream.load()) == CUDA_SUCCESS;
    const std::int64_t ns = monotonic_ns() - pacing_event.recorded_ns;
    pacing_event.late_ns = ns < kPromptNs ? 0 : ns;
    pacing_event.stands_for = stands_for;
}

void draw_next_pacing_event(StreamTiming& of) {
    const int either_side = of.pace.batch < 2 ? 0 : std::max(of.pace.batch / 4, 1);
    if (of.pace.to_pacing_event > 0 && of.pace.to_pacing_event <= of.pace.batch + either_side)
        return;
    const auto places = static_cast<std::uint32_t>(2 * either_side + 1);
    of.pace.to_pacing_event = of.pace.batch - either_side + static_cast<int>(draw(of.gpu, places));
}

std::int64_t started_at(const StreamTiming& of) {
    const std::int64_t ns = happened_at(of, of.start.event, of.start.clock_ns);
    if (ns != 0 && ns < of.began_ns) note_too_soon(of, of.began_ns - ns);
    return ns;
}

std::int64_t last_pacing_event_reached_ns(const StreamTiming& of) {
    return happened_at(of, of.pacing_events.last_reached,
                       of.pacing_events.places[pacing_event_place(of, -1)].clock_ns);
}

std::int64_t learn_first(StreamTiming& of, bool is_untold) {
    const PacingEvent& last = of.pacing_events.places[pacing_event_place(of, -1)];
    if (of.pacing_events.last_reached == nullptr || !last.has_next || is_untold) return -1;
    const std::int64_t ns = between_ns(of.pacing_events.last_reached, last.behind_next);
    if (ns < 0) return ns;
    const std::int64_t first_ns = std::max(ns - last.late_ns, std::int64_t{0});
    learn_launch(work_of(of), first_ns, last.stands_for);
    return first_ns;
}

void learn_pace(StreamTiming& of, int launches, std::int64_t ns) {
    if (launches <= 0 || ns < 0) return;
    if (ns / launches > kPacingEventNs / of.pace.batch) return learn_batch(of, launches, ns);
    note_length(of.pace, static_cast<double>(ns) / launches);
}

Passed pass_first_pacing_event(StreamTiming& of, std::int64_t until_ns) {
    const std::uint64_t generation = of.generation;
    std::int64_t pause_ns = kFirstPauseNs;
    for (;;) {
        const int before = of.pacing_events.ahead;
        const CUresult first = harvest(of);
        if (of.pacing_events.ahead < before || of.pacing_events.ahead == 0) return Passed::reached;
        if (first != CUDA_ERROR_NOT_READY) return Passed::failed;
        if (monotonic_ns() >= until_ns) return Passed::late;
        pthread_mutex_unlock(&timing(of.gpu).mutex);
        sleep_ns(pause_ns);
        pthread_mutex_lock(&timing(of.gpu).mutex);
        if (of.generation != generation || is_gone(of)) return Passed::gone;
        pause_ns = pause_ns * 2 < kLongestPauseNs ? pause_ns * 2 : kLongestPauseNs;
    }
}

void take_back_burst_budget(StreamTiming& of) {
    const int left = of.burst_budget.exchange(0, std::memory_order_relaxed);
    of.pace.to_pacing_event += left;
    of.since.launches -= left;
}

int launches_ahead(const StreamTiming& of) {
    const int burst_budget = of.burst_budget.load(std::memory_order_relaxed);
    int launches = of.is_in_flight ? of.since.launches - burst_budget : 0;
    for (int i = 0; i < of.pacing_events.ahead; i++)
        launches += of.pacing_events.places[pacing_event_place(of, i)].launches;
    return launches;
}

int calls_ahead(const StreamTiming& of) {
    int calls = launches_ahead(of) + of.since.waits;
    for (int i = 0; i < of.pacing_events.ahead; i++)
        calls += of.pacing_events.places[pacing_event_place(of, i)].waits;
    return calls;
}

bool has_room_for_event(const StreamTiming& of) {
    return calls_ahead(of) <= kMostAhead;
}

}  // namespace tessera::guard

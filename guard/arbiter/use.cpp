#include "guard/arbiter/use.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "guard/arbiter/time_attribution.hpp"

namespace tessera::guard {
namespace {

// The parts of the spans within the tick: ascending, with overlaps joined.
std::vector<Span> joined(const std::vector<Span>& spans, Span tick) {
    std::vector<Span> within;
    for (const Span& span : spans) {
        const Span part = {std::max(span.start_ns, tick.start_ns),
                           std::min(span.end_ns, tick.end_ns)};
        if (part.start_ns < part.end_ns) within.push_back(part);
    }
    std::ranges::sort(within, {}, &Span::start_ns);
    std::vector<Span> apart;
    for (const Span& span : within) {
        if (!apart.empty() && span.start_ns <= apart.back().end_ns) {
            apart.back().end_ns = std::max(apart.back().end_ns, span.end_ns);
        } else {
            apart.push_back(span);
        }
    }
    return apart;
}

double length_of_all(const std::vector<Span>& spans) {
    double sum = 0;
    for (const Span& span : spans)
        sum += length_of(span);
    return sum;
}

// What a process had in flight in the tick.
struct Work {
    const std::vector<Span>* spans;
    const std::vector<EndedInterval>* ended;
    double in_flight_ns;
    // The time of earlier ticks that was charged for a work interval before it had begun.
    double too_early_ns;
    double own_ns = 0;  // its own part of in_flight_ns
};

// When the first of the work intervals since the last reading began, as far as it is known; 0: no
// new one has.
std::int64_t first_start_of(const ProcessReading& process, std::size_t kind) {
    const std::vector<EndedInterval>& ended = process.ended[kind];
    if (ended.empty()) return process.since_ns[kind];
    return ended.front().before_ns == 0 ? ended.front().start_ns : 0;
}

// Whether the process logged all work intervals that ended since the last reading. The log has few
// entries, and work may end between the reading of the times and that of the log.
bool is_all_logged(const KnownTimes::Process& before, const ProcessReading& process,
                   std::size_t kind) {
    std::int64_t logged = 0;
    for (const EndedInterval& each : process.ended[kind])
        logged = std::min(logged + each.ns - each.before_ns, kMaxTimeNs);
    return process.ended_ns[kind] - before.ended_ns[kind] <= logged;
}

// A process is charged from the launch on, until it knows when the work began: it may have waited
// for a slice.
std::int64_t too_early_ns(const KnownTimes::Process& before, const ProcessReading& process,
                          std::size_t kind, std::int64_t as_of_ns) {
    const std::int64_t since = before.since_ns[kind];
    if (before.is_lost[kind] || !is_all_logged(before, process, kind)) return 0;
    const std::int64_t start = first_start_of(process, kind);
    if (since == 0 || start <= since) return 0;
    return std::max(std::min(start, as_of_ns) - since, std::int64_t{0});
}

// Leaves out processes that had nothing in flight.
std::vector<Work> work_of(const KnownTimes& known, const ContainerReading& reading, WorkKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    std::vector<Work> all;
    for (const auto& [slot, process] : reading.processes) {
        const auto of_slot = static_cast<std::size_t>(slot);
        // A slot that had no owner when the others were read began at zero.
        const bool is_known = of_slot < known.processes.size() && known.processes[of_slot].is_known;
        if (!is_known && known.readings == 0) continue;
        const KnownTimes::Process before =
            is_known ? known.processes[of_slot] : KnownTimes::Process{};
        // The total may be less than before: how much of a work interval was work is known only at
        // its end. A process gets back at most what it was charged for intervals that had not ended
        // then.
        const std::int64_t since = before.since_ns[index];
        const std::int64_t unsure =
            since != 0 ? std::max(known.as_of_ns - since, std::int64_t{0}) : 0;
        const std::int64_t more = process.in_flight_ns[index] - before.in_flight_ns[index];
        if (more == 0 && process.spans[index].empty()) continue;
        all.push_back({&process.spans[index], &process.ended[index],
                       static_cast<double>(std::max(more, -unsure)),
                       static_cast<double>(too_early_ns(before, process, index, known.as_of_ns))});
    }
    return all;
}

BusyTime busy_time_of(const Work& work, Span tick) {
    BusyTime busy = {.spans = joined(*work.spans, tick)};
    const double covered = length_of_all(busy.spans);
    const double outside = length_of(tick) - covered;
    if (outside > 0) busy.by_chance = std::clamp((work.in_flight_ns - covered) / outside, 0.0, 1.0);
    return busy;
}

// How many of each container's processes are counted individually.
std::size_t most_of_each(const std::vector<std::vector<Work>>& containers) {
    std::size_t most = kMaxBusyTimes;
    const auto of_all = [&] {
        std::size_t sum = 0;
        for (const auto& work : containers)
            sum += std::min(work.size(), most);
        return sum;
    };
    while (most > 1 && of_all() > kMaxBusyTimesOfGpu)
        most--;
    return most;
}

// Adds the processes that are counted individually, those with most in flight, and one entry for
// all others.
void add_busy_times(std::vector<Work>& work, std::size_t most, Span tick,
                    std::vector<BusyTime>& busy_times) {
    if (work.size() > most) {
        const auto others = work.begin() + static_cast<std::ptrdiff_t>(most);
        std::ranges::nth_element(work, others, std::greater(), &Work::in_flight_ns);
    }
    for (std::size_t i = 0; i < std::min(most, work.size()); i++)
        busy_times.push_back(busy_time_of(work[i], tick));
    if (work.size() <= most) return;
    BusyTime& others = busy_times.emplace_back();
    for (std::size_t i = most; i < work.size(); i++)
        others.by_chance += std::clamp(work[i].in_flight_ns / length_of(tick), 0.0, 1.0);
}

// How long any of them had work. For time whose position is not known, it assumes that each came
// independently.
double union_ns(std::span<const BusyTime> busy_times, Span tick) {
    std::vector<Span> all;
    double none = 1;
    for (const BusyTime& busy : busy_times) {
        all.insert(all.end(), busy.spans.begin(), busy.spans.end());
        none *= 1 - std::min(busy.by_chance, 1.0);
    }
    const double covered = length_of_all(joined(all, tick));
    return covered + (length_of(tick) - covered) * (1 - none);
}

// The own part of each process's time, with the GPU divided by the number of processes. `own` has
// one entry per busy time. The last one is for all processes that are not counted individually.
void divide(std::vector<Work>& works, std::span<const double> own, double part_before) {
    for (std::size_t i = 0; i < works.size(); i++) {
        // Time that is given back was charged in ticks before this one.
        const double part =
            works[i].in_flight_ns < 0 ? part_before : own[std::min(i, own.size() - 1)];
        works[i].own_ns = works[i].in_flight_ns * part;
    }
}

// A process that is counted individually.
struct Gain {
    Work* work;
    double more_ns = 0;  // what it had more than its part
    double lost_ns = 0;  // what was lost at the switches to it and from it
    double back_ns = 0;  // what it was charged in earlier ticks of the others' time
};

// The time by which the division was too small for the process's work intervals that have ended,
// because each began and ended in a slice of its own. `part` is its own part of the tick, and
// `part_before` the one by which its container was charged in the tick before.
Gain gain_of(Work& work, double part, double part_before, Span tick, TimeSlices slices) {
    Gain gain = {.work = &work};
    // From 0, if no other process had work then, to 1, if at least one always had.
    const double had_neighbours = std::clamp(1 / std::max(part_before, 1e-3) - 1, 0.0, 1.0);
    gain.back_ns = had_neighbours * part_before * std::min(work.too_early_ns, length_of(tick));
    if (part <= 0 || part >= 1) return gain;
    const double processes = 1 / part;
    for (const EndedInterval& each : *work.ended) {
        gain.more_ns += more_than_divided(static_cast<double>(each.ns), processes, slices) -
                        more_than_divided(static_cast<double>(each.before_ns), processes, slices);
        if (each.before_ns == 0) gain.lost_ns += lost_at_switches(processes, slices);
    }
    // An interval may have begun before the tick; all others are in its time in flight.
    const double most_ns =
        std::max(work.in_flight_ns, 0.0) + static_cast<double>(slices.length_ns + slices.switch_ns);
    gain.more_ns = std::min(gain.more_ns, most_ns);
    gain.lost_ns = std::min(gain.lost_ns, most_ns);
    return gain;
}

// Moves time to the processes that had more than their part, from all others by what they had.
// What was lost at switches is for all, by what they had. The sum of all stays the same, except for
// what belongs to earlier ticks. Tenants write these numbers. So whatever a process writes, no
// other one is charged for more than it had in flight itself, which is its charge without
// neighbours, and no process gets more back than it was charged in this tick.
void move_time(const std::vector<Gain>& gains) {
    double all_ns = 0;
    for (const Gain& gain : gains)
        all_ns += std::max(gain.work->own_ns, 0.0);
    // What is taken of each nanosecond, by all of them together.
    double taken = 0;
    std::vector<double> given(gains.size());
    double all_back = 0;
    std::vector<double> back(gains.size());
    for (std::size_t i = 0; i < gains.size(); i++) {
        const double others_ns = all_ns - std::max(gains[i].work->own_ns, 0.0);
        if (others_ns <= 0) continue;
        const double had = std::clamp((all_ns - others_ns + gains[i].more_ns) / all_ns, 0.0, 1.0);
        const double more_ns = gains[i].more_ns + had * gains[i].lost_ns;
        given[i] = std::clamp(more_ns / others_ns, -1.0, 1.0);
        back[i] = std::clamp(gains[i].back_ns / others_ns, 0.0, 1.0);
        taken += given[i];
        all_back += back[i];
    }
    const double scale = std::max(taken, 1.0);
    for (std::size_t i = 0; i < gains.size(); i++) {
        Work& work = *gains[i].work;
        const double own_ns = std::max(work.own_ns, 0.0);
        const double by_others_ns = ((all_back - back[i]) - (taken - given[i]) / scale) * own_ns;
        const double room_ns = std::max(work.in_flight_ns - own_ns, 0.0);
        const double by_itself_ns = given[i] * (all_ns - own_ns) / scale;
        work.own_ns += std::max(by_itself_ns + std::min(by_others_ns, room_ns), -own_ns);
    }
}

Use use_of(const std::vector<Work>& works, Span tick) {
    Use use;
    double taken_ns = 0;  // without what is given back
    double own_taken_ns = 0;
    for (const Work& work : works) {
        use.in_flight_ns += work.in_flight_ns;
        use.own_ns += work.own_ns;
        if (work.in_flight_ns < 0 || work.own_ns <= 0) continue;
        taken_ns += work.in_flight_ns;
        own_taken_ns += work.own_ns;
    }
    constexpr double kNextToNothing = 0.01;  // of the tick
    if (taken_ns > kNextToNothing * length_of(tick)) {
        const double part = std::clamp(own_taken_ns / taken_ns, 0.0, 1.0);
        use.part = static_cast<Millionths>(std::lround(part * kWhole));
    }
    return use;
}

}  // namespace

std::vector<Use> uses(std::span<const Report> reports, WorkKind kind, Span tick,
                      TimeSlices slices) {
    std::vector<std::vector<Work>> works;
    works.reserve(reports.size());
    for (const Report& report : reports)
        works.push_back(work_of(*report.known, *report.reading, kind));
    const std::size_t most = most_of_each(works);
    std::vector<BusyTime> busy_times;
    std::vector<std::size_t> ends;  // by container: the end of its busy times
    for (auto& of_container : works) {
        add_busy_times(of_container, most, tick, busy_times);
        ends.push_back(busy_times.size());
    }
    const std::vector<double> own = own_parts(busy_times, tick);
    std::vector<Gain> gains;
    std::size_t first = 0;
    for (std::size_t i = 0; i < reports.size(); i++) {
        const double part_before = static_cast<double>(reports[i].part) / kWhole;
        divide(works[i], {own.data() + first, ends[i] - first}, part_before);
        const std::size_t counted = slices.length_ns > 0 ? std::min(most, works[i].size()) : 0;
        for (std::size_t n = 0; n < counted; n++) {
            Work& work = works[i][n];
            const double part = work.in_flight_ns > 0 ? own[first + n] : part_before;
            gains.push_back(gain_of(work, part, part_before, tick, slices));
        }
        first = ends[i];
    }
    move_time(gains);
    std::vector<Use> all;
    first = 0;
    for (std::size_t i = 0; i < reports.size(); i++) {
        Use& use = all.emplace_back(use_of(works[i], tick));
        use.busy_ns = union_ns({busy_times.data() + first, ends[i] - first}, tick);
        first = ends[i];
    }
    return all;
}

}  // namespace tessera::guard

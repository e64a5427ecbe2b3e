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
    double in_flight_ns;
};

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
        all.push_back({&process.spans[index], static_cast<double>(std::max(more, -unsure))});
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

// `own` has one entry per busy time. The last one is for all processes that are not counted
// individually.
Use use_of(const std::vector<Work>& works, std::span<const double> own, Millionths part_before,
           Span tick) {
    Use use;
    double taken_ns = 0;  // without what is given back
    double own_taken_ns = 0;
    for (std::size_t i = 0; i < works.size(); i++) {
        const double in_flight_ns = works[i].in_flight_ns;
        use.in_flight_ns += in_flight_ns;
        // Time that is given back was charged in ticks before this one.
        if (in_flight_ns < 0) {
            use.own_ns += in_flight_ns * static_cast<double>(part_before) / kWhole;
            continue;
        }
        const double own_ns = in_flight_ns * own[std::min(i, own.size() - 1)];
        use.own_ns += own_ns;
        if (own_ns <= 0) continue;
        taken_ns += in_flight_ns;
        own_taken_ns += own_ns;
    }
    constexpr double kNextToNothing = 0.01;  // of the tick
    if (taken_ns > kNextToNothing * length_of(tick)) {
        const double part = std::clamp(own_taken_ns / taken_ns, 0.0, 1.0);
        use.part = static_cast<Millionths>(std::lround(part * kWhole));
    }
    return use;
}

}  // namespace

std::vector<Use> uses(std::span<const Report> reports, WorkKind kind, Span tick) {
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
    std::vector<Use> all;
    std::size_t first = 0;
    for (std::size_t i = 0; i < reports.size(); i++) {
        const std::size_t count = ends[i] - first;
        Use& use =
            all.emplace_back(use_of(works[i], {own.data() + first, count}, reports[i].part, tick));
        use.busy_ns = union_ns({busy_times.data() + first, count}, tick);
        first = ends[i];
    }
    return all;
}

}  // namespace tessera::guard

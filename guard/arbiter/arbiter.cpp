#include "guard/arbiter/arbiter.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::guard {
namespace {

// Who does not wait gets somewhat more than he used, so that he can come to use more.
constexpr double kRoomToGrow = 1.3;
constexpr double kRoomToBegin = 0.02;
// Nobody who may have the whole card is to wait for it because a clock is a little off.
constexpr double kMoreThanWhole = 1.25;
// How fast what was used is forgotten: half in some 5 ticks.
constexpr double kForget = 0.13;
// Less than this part of a tick in flight, and nobody waiting, is a pause.
constexpr double kPause = 0.5;

double of_whole(Millionths part) {
    return static_cast<double>(part) / kWhole;
}

Millionths millionths(double part) {
    return static_cast<Millionths>(std::lround(part * kWhole));
}

// Gives `left` to those with room for it, by weight, until nobody has or nothing is left. What is
// still left.
double pour(double left, const std::vector<double>& room, const std::vector<Claim>& claims,
            std::vector<double>& got) {
    std::vector<double> given(claims.size());
    constexpr double kNothing = 1e-9;
    while (left > kNothing) {
        double weights = 0;
        for (std::size_t i = 0; i < claims.size(); i++)
            if (given[i] < room[i]) weights += claims[i].weight;
        if (weights <= 0) break;
        double poured = 0;
        for (std::size_t i = 0; i < claims.size(); i++) {
            if (given[i] >= room[i]) continue;
            const double more = std::min(left * claims[i].weight / weights, room[i] - given[i]);
            given[i] += more;
            poured += more;
        }
        if (poured <= kNothing) break;
        left -= poured;
    }
    for (std::size_t i = 0; i < claims.size(); i++)
        got[i] += given[i];
    return left;
}

}  // namespace

double own_part(int certain, const std::vector<double>& others) {
    if (others.empty()) return 1.0 / (certain + 1);
    // chance[k]: of k of them at once.
    std::vector<double> chance = {1.0};
    for (const double part : others) {
        chance.push_back(0);
        for (std::size_t k = chance.size() - 1; k > 0; k--)
            chance[k] = chance[k] * (1 - part) + chance[k - 1] * part;
        chance[0] *= 1 - part;
    }
    double mean = 0;
    for (std::size_t k = 0; k < chance.size(); k++)
        mean += chance[k] / (static_cast<double>(k + 1) + certain);
    return mean;
}

std::vector<double> fill(const std::vector<Claim>& claims) {
    std::vector<double> got(claims.size());
    double left = 1;
    for (std::size_t i = 0; i < claims.size(); i++) {
        got[i] = std::min({claims[i].cores, claims[i].ceiling, claims[i].wanted});
        left -= got[i];
    }
    std::vector<double> room(claims.size());
    for (std::size_t i = 0; i < claims.size(); i++)
        room[i] = std::max(0.0, std::min(claims[i].wanted, claims[i].ceiling) - got[i]);
    left = pour(left, room, claims, got);
    // Nobody wants it now; whoever does next need not wait for the next tick.
    for (std::size_t i = 0; i < claims.size(); i++)
        room[i] = std::max(0.0, claims[i].ceiling - got[i]);
    pour(left, room, claims, got);
    return got;
}

namespace {

// What a process had in flight of a kind in a tick.
struct Flight {
    Arbiter::Id container;
    std::vector<ProcessReading::Span> spans;  // within the tick
    double in_flight_ns = 0;                  // in all
    double by_chance =
        0;  // the part of the tick outside of the spans in which it was in flight too
};

bool is_in(const Flight& flight, std::int64_t at) {
    return std::ranges::any_of(flight.spans, [at](const ProcessReading::Span& span) {
        return span.start_ns <= at && at < span.end_ns;
    });
}

Flight flight_of(Arbiter::Id container, const ProcessReading& before, const ProcessReading& now,
                 WorkKind kind, ProcessReading::Span tick) {
    const auto index = static_cast<std::size_t>(kind);
    Flight flight = {.container = container};
    flight.in_flight_ns = static_cast<double>(now.in_flight_ns[index] - before.in_flight_ns[index]);
    double covered = 0;
    for (const ProcessReading::Span& span : now.spans[index]) {
        const ProcessReading::Span within = {std::max(span.start_ns, tick.start_ns),
                                             std::min(span.end_ns, tick.end_ns)};
        if (within.start_ns >= within.end_ns) continue;
        flight.spans.push_back(within);
        covered += static_cast<double>(within.end_ns - within.start_ns);
    }
    const double outside = static_cast<double>(tick.end_ns - tick.start_ns) - covered;
    if (outside > 0)
        flight.by_chance = std::clamp((flight.in_flight_ns - covered) / outside, 0.0, 1.0);
    return flight;
}

// The part of what each had in flight that was its own: between any two ends of spans nothing
// changes.
std::vector<double> own_parts(const std::vector<Flight>& flights, ProcessReading::Span tick) {
    std::vector<std::int64_t> ends = {tick.start_ns, tick.end_ns};
    for (const Flight& flight : flights) {
        for (const ProcessReading::Span& span : flight.spans) {
            ends.push_back(span.start_ns);
            ends.push_back(span.end_ns);
        }
    }
    std::ranges::sort(ends);
    std::vector<double> own(flights.size());
    std::vector<double> in_flight(flights.size());
    std::vector<double> part(flights.size());
    std::vector<double> others;
    for (std::size_t end = 1; end < ends.size(); end++) {
        const std::int64_t length = ends[end] - ends[end - 1];
        if (length <= 0) continue;
        for (std::size_t i = 0; i < flights.size(); i++)
            part[i] = is_in(flights[i], ends[end - 1]) ? 1 : flights[i].by_chance;
        const auto certain = static_cast<int>(std::ranges::count(part, 1.0));
        for (std::size_t i = 0; i < flights.size(); i++) {
            if (part[i] <= 0) continue;
            others.clear();
            for (std::size_t j = 0; j < flights.size(); j++)
                if (j != i && part[j] > 0 && part[j] < 1) others.push_back(part[j]);
            const double mine = own_part(certain - (part[i] < 1 ? 0 : 1), others);
            in_flight[i] += static_cast<double>(length) * part[i];
            own[i] += static_cast<double>(length) * part[i] * mine;
        }
    }
    for (std::size_t i = 0; i < flights.size(); i++)
        own[i] = in_flight[i] > 0 ? own[i] / in_flight[i] : 1;
    return own;
}

}  // namespace

void Arbiter::note_pauses(const std::map<Id, ContainerReading>& readings) {
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        container.is_pausing = !reading.waits && reading.waited_ns == container.waited_ns;
        container.is_idle = container.is_pausing;
    }
}

void Arbiter::charge(WorkKind kind, std::int64_t now,
                     const std::map<Id, ContainerReading>& readings) {
    const ProcessReading::Span tick = {as_of_ns_, now};
    const auto length = static_cast<double>(now - as_of_ns_);
    std::vector<Flight> flights;
    for (const auto& [id, reading] : readings) {
        const Container& container = containers_[id];
        for (const auto& [slot, process] : reading.processes) {
            const auto before = container.processes.find(slot);
            if (before != container.processes.end())
                flights.push_back(flight_of(id, before->second, process, kind, tick));
        }
    }
    const std::vector<double> own = own_parts(flights, tick);
    std::map<Id, std::pair<double, double>> sums;  // in flight, of that its own
    for (std::size_t i = 0; i < flights.size(); i++) {
        auto& [in_flight, used] = sums[flights[i].container];
        in_flight += flights[i].in_flight_ns;
        used += flights[i].in_flight_ns * own[i];
    }
    for (const auto& [id, sum] : sums) {
        const auto index = static_cast<std::size_t>(kind);
        Container& container = containers_[id];
        const auto used = static_cast<std::int64_t>(sum.second);
        container.used_ns[index] += used;
        container.balance_ns[index] -= used;
        if (sum.first > kPause * length) container.is_pausing = false;
        if (sum.first > 0) container.is_idle = false;
        if (sum.first > 0.01 * length)
            container.part[index] = millionths(std::clamp(sum.second / sum.first, 0.0, 1.0));
    }
}

void Arbiter::share_out(std::int64_t tick, const std::map<Id, ContainerReading>& readings) {
    std::vector<Claim> claims;
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        const bool waited = reading.waits || reading.waited_ns != container.waited_ns;
        container.waited_ns = reading.waited_ns;
        const double cores = of_whole(reading.cores);
        const double ceiling = of_whole(reading.ceiling);
        claims.push_back({
            .cores = cores,
            .ceiling = reading.ceiling >= kWhole ? kMoreThanWhole : ceiling,
            .wanted = waited ? kMoreThanWhole : container.recent_use * kRoomToGrow + kRoomToBegin,
            .weight = of_whole(reading.cores > 0 ? reading.cores : kWeightOfNone),
        });
    }
    const std::vector<double> rates = fill(claims);
    std::size_t i = 0;
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        for (std::int64_t& balance : container.balance_ns) {
            balance += part_of(tick, container.rate);
            balance =
                std::clamp(balance, -kMaxDebtNs, container.is_pausing ? kMaxBalanceNs : kMaxLagNs);
        }
        // Who does not use what he is sure of can begin to at once; the next tick takes it back
        // from those who have it meanwhile.
        container.rate = millionths(std::max(rates[i], claims[i].cores));
        container.processes = reading.processes;
        i++;
    }
}

std::map<Arbiter::Id, Granted> Arbiter::decide(std::int64_t now,
                                               const std::map<Id, ContainerReading>& readings) {
    std::erase_if(containers_, [&](const auto& known) { return !readings.contains(known.first); });
    const std::int64_t tick = now - as_of_ns_;
    const bool is_first = as_of_ns_ == 0 || tick <= 0;
    std::map<Id, std::int64_t> used_before;
    for (const auto& [id, container] : containers_)
        used_before[id] = std::max(container.used_ns[0], container.used_ns[1]);
    note_pauses(readings);
    for (const WorkKind kind : {WorkKind::kernels, WorkKind::copies})
        if (!is_first) charge(kind, now, readings);
    for (auto& [id, container] : containers_) {
        if (is_first) break;
        const std::int64_t used = std::max(container.used_ns[0], container.used_ns[1]);
        const double use = static_cast<double>(used - used_before[id]) / static_cast<double>(tick);
        container.recent_use = std::max(use, container.recent_use * (1 - kForget) + use * kForget);
    }
    share_out(is_first ? 0 : tick, readings);
    as_of_ns_ = now;
    std::map<Id, Granted> granted;
    for (const auto& [id, container] : containers_) {
        Granted& grant = granted[id];
        grant.as_of_ns = now;
        grant.rate = container.rate;
        for (int kind = 0; kind < kWorkKinds; kind++)
            grant.of[kind] = {container.balance_ns[kind], container.part[kind]};
    }
    return granted;
}

bool Arbiter::is_quiet() const {
    return std::ranges::all_of(containers_, [](const auto& known) { return known.second.is_idle; });
}

std::int64_t Arbiter::used_ns(Id id, WorkKind kind) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? found->second.used_ns[static_cast<int>(kind)] : 0;
}

}  // namespace tessera::guard

#include "guard/arbiter/arbiter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

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
// And more: it takes whatever it can have.
constexpr double kPress = 0.98;
// After a longer one nobody knows who wanted what when: it neither gives nor takes.
constexpr std::int64_t kLongestTickNs = 1'000'000'000;

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
    // Nobody wants it now; whoever does next need not wait for the next tick. First those who may
    // want it soon: who idles is to take nothing from them.
    for (const bool busy : {true, false}) {
        for (std::size_t i = 0; i < claims.size(); i++) {
            const bool has_room = claims[i].is_busy == busy;
            room[i] = has_room ? std::max(0.0, claims[i].ceiling - got[i]) : 0;
        }
        left = pour(left, room, claims, got);
    }
    return got;
}

namespace {

double length_of(Span span) {
    return static_cast<double>(span.end_ns - span.start_ns);
}

// Those within the tick; ascending, and what overlaps joined.
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

// What a process had in flight of a kind in a tick.
struct Work {
    const std::vector<Span>* spans;
    double in_flight_ns;
};

// Who had nothing in flight is left out.
std::vector<Work> work_of(const KnownTimes& known, const ContainerReading& reading, WorkKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    std::vector<Work> all;
    for (const auto& [slot, process] : reading.processes) {
        const auto of_slot = static_cast<std::size_t>(slot);
        // A slot that nobody had when the others were read began with nothing.
        const bool is_known = of_slot < known.processes.size() && known.processes[of_slot].is_known;
        if (!is_known && known.readings == 0) continue;
        const KnownTimes::Process before =
            is_known ? known.processes[of_slot] : KnownTimes::Process{};
        // It may be less than before: what of a piece was work is known only at its end. Nobody
        // gets back more than he was charged for what had not ended then.
        const std::int64_t since = before.since_ns[index];
        const std::int64_t unsure =
            since != 0 ? std::max(known.as_of_ns - since, std::int64_t{0}) : 0;
        const std::int64_t more = process.in_flight_ns[index] - before.in_flight_ns[index];
        if (more == 0 && process.spans[index].empty()) continue;
        all.push_back({&process.spans[index], static_cast<double>(std::max(more, -unsure))});
    }
    return all;
}

Flight flight_of(const Work& work, Span tick) {
    Flight flight = {.spans = joined(*work.spans, tick)};
    double covered = 0;
    for (const Span& span : flight.spans)
        covered += length_of(span);
    const double outside = length_of(tick) - covered;
    if (outside > 0)
        flight.by_chance = std::clamp((work.in_flight_ns - covered) / outside, 0.0, 1.0);
    return flight;
}

// How many of each container's count each for itself.
std::size_t most_of_each(const std::vector<std::vector<Work>>& containers) {
    std::size_t most = kMaxFlights;
    const auto of_all = [&] {
        std::size_t sum = 0;
        for (const auto& work : containers)
            sum += std::min(work.size(), most);
        return sum;
    };
    while (most > 1 && of_all() > kMaxFlightsOfCard)
        most--;
    return most;
}

// Adds those that count each for itself, with most in flight, and then one for all others.
void add_flights(std::vector<Work>& work, std::size_t most, Span tick,
                 std::vector<Flight>& flights) {
    if (work.size() > most) {
        const auto others = work.begin() + static_cast<std::ptrdiff_t>(most);
        std::ranges::nth_element(work, others, std::greater(), &Work::in_flight_ns);
    }
    for (std::size_t i = 0; i < std::min(most, work.size()); i++)
        flights.push_back(flight_of(work[i], tick));
    if (work.size() <= most) return;
    Flight& others = flights.emplace_back();
    for (std::size_t i = most; i < work.size(); i++)
        others.by_chance += std::clamp(work[i].in_flight_ns / length_of(tick), 0.0, 1.0);
}

// How long any of a container's had work. Of time of which it is not known when that was, as if
// each came independently.
double union_ns(std::span<const Flight> flights, Span tick) {
    std::vector<Span> all;
    double none = 1;
    for (const Flight& flight : flights) {
        all.insert(all.end(), flight.spans.begin(), flight.spans.end());
        none *= 1 - std::min(flight.by_chance, 1.0);
    }
    double covered = 0;
    for (const Span& span : joined(all, tick))
        covered += length_of(span);
    return covered + (length_of(tick) - covered) * (1 - none);
}

std::int64_t whole_ns(double ns) {
    constexpr auto kMost = static_cast<double>(kMaxTimeNs);
    return static_cast<std::int64_t>(std::clamp(ns, -kMost, kMost));
}

}  // namespace

void Arbiter::note_pauses(const std::map<Id, ContainerReading>& readings) {
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        container.is_pausing = !reading.waits && reading.waited_ns == container.known.waited_ns;
        container.is_idle = container.is_pausing;
        container.waited_ns = static_cast<double>(reading.waited_ns - container.known.waited_ns);
        for (bool& presses : container.is_pressing)
            presses = false;
        for (bool& busy : container.is_busy)
            busy = false;
        container.busy = 0;
        container.wanted = 0;
        std::ranges::copy(container.balance_ns, container.balance_before_ns);
    }
}

void Arbiter::charge(WorkKind kind, std::int64_t now,
                     const std::map<Id, ContainerReading>& readings) {
    const auto index = static_cast<std::size_t>(kind);
    const Span tick = {as_of_ns_, now};
    const double length = length_of(tick);
    std::vector<std::vector<Work>> work;
    work.reserve(readings.size());
    for (const auto& [id, reading] : readings)
        work.push_back(work_of(containers_[id].known, reading, kind));
    const std::size_t most = most_of_each(work);
    std::vector<Flight> flights;
    for (auto& of_container : work)
        add_flights(of_container, most, tick, flights);
    const std::vector<double> own = own_parts(flights, tick);
    std::size_t flight = 0;
    std::size_t container = 0;
    for (const auto& [id, reading] : readings) {
        const std::vector<Work>& of_container = work[container++];
        Use use = {};
        for (std::size_t i = 0; i < of_container.size(); i++) {
            use.in_flight_ns += of_container[i].in_flight_ns;
            // What is given back was charged in ticks before this one.
            const double in_flight_ns = of_container[i].in_flight_ns;
            const double part = in_flight_ns < 0 ? of_whole(containers_[id].part[index])
                                                 : own[flight + std::min(i, most)];
            const double own_ns = in_flight_ns * part;
            use.own_ns += own_ns;
            if (own_ns <= 0) continue;
            use.more_ns += of_container[i].in_flight_ns;
            use.more_own_ns += own_ns;
        }
        const std::size_t flight_count = std::min(of_container.size(), most + 1);
        use.busy_ns = union_ns({flights.data() + flight, flight_count}, tick);
        flight += flight_count;
        debit(containers_[id], kind, use, length);
    }
}

void Arbiter::debit(Container& container, WorkKind kind, const Use& use, double tick_ns) {
    const auto index = static_cast<std::size_t>(kind);
    const std::int64_t used = whole_ns(use.own_ns);
    container.used_ns[index] =
        std::clamp(container.used_ns[index] + used, std::int64_t{0}, kMaxTimeNs);
    container.busy_ns[index] =
        std::min(container.busy_ns[index] + whole_ns(use.busy_ns), kMaxTimeNs);
    // Of what is given back that comes first for which nobody paid; and none of it is saved up.
    std::int64_t& unpaid = container.unpaid_ns[index];
    const std::int64_t back = std::max(-used, std::int64_t{0});
    const std::int64_t never_paid = std::min(back, unpaid);
    unpaid -= never_paid;
    std::int64_t& balance = container.balance_ns[index];
    balance = std::min(balance - used - never_paid, std::max(balance, kMaxLagNs));
    if (use.busy_ns > kPause * tick_ns) container.is_pausing = false;
    container.busy = std::max(container.busy, use.busy_ns);
    container.is_busy[index] = use.busy_ns > 0;
    // Who has time left of a kind has not waited for that.
    const double waited_ns = balance <= 0 ? std::min(container.waited_ns, tick_ns) : 0;
    const double pressed_ns = use.busy_ns + waited_ns;
    container.is_pressing[index] = use.busy_ns > 0 && pressed_ns > kPress * tick_ns;
    if (use.in_flight_ns > 0) container.is_idle = false;
    if (use.more_ns > 0.01 * tick_ns) {
        container.part[index] = millionths(std::clamp(use.more_own_ns / use.more_ns, 0.0, 1.0));
    }
}

void Arbiter::remember(KnownTimes& known, std::int64_t now, const ContainerReading& reading) {
    for (const auto& [slot, process] : reading.processes) {
        const auto of_slot = static_cast<std::size_t>(slot);
        if (of_slot >= known.processes.size()) known.processes.resize(of_slot + 1);
        KnownTimes::Process& before = known.processes[of_slot];
        before = {.is_known = true, .is_busy = process.is_busy, .waited_ns = process.waited_ns};
        for (int kind = 0; kind < kWorkKinds; kind++) {
            before.in_flight_ns[kind] = process.in_flight_ns[kind] - process.lost_ns[kind];
            before.ended_ns[kind] = process.ended_ns[kind];
            before.since_ns[kind] = process.since_ns[kind];
            before.is_lost[kind] = process.is_lost[kind];
        }
    }
    known.waited_ns = reading.waited_ns;
    known.as_of_ns = now;
    known.next_slot = reading.next_slot;
    if (reading.is_read) known.readings++;
}

namespace {

// Between two of its kernels a program that waits for each has nothing on the card.
constexpr std::int64_t kBetweenNs = 2'000'000;
// Who did not want a kind of work for so long does without it: it is not between two kernels, or
// its copies.
constexpr std::int64_t kUnwantedNs = 100'000'000;

bool is_at_work(const ContainerReading& reading, int kind, std::int64_t now, bool is_busy) {
    bool is_known = false;
    for (const auto& [slot, process] : reading.processes) {
        for (const Span& span : process.spans[kind]) {
            if (span.end_ns > now - kBetweenNs) return true;
            is_known = true;
        }
    }
    return is_busy && !is_known;
}

// Of a card to itself, who used so much of it while he had work on it for `busy`, and did not want
// it in the rest.
double wanted_of(double use, double busy) {
    const double pause = std::max(1 - busy, 0.0);
    return use > 0 ? use / (use + pause) : 0;
}

}  // namespace

Claim Arbiter::claim_of(const Container& container, const ContainerReading& reading,
                        double wanted) {
    const bool is_whole = reading.ceiling >= kWhole;
    return {
        .cores = of_whole(reading.cores),
        .ceiling = is_whole ? kMoreThanWhole : of_whole(reading.ceiling),
        .wanted = container.wants_more ? kMoreThanWhole : wanted,
        .weight = of_whole(reading.cores > 0 ? reading.cores : kWeightOfNone),
        .is_busy = !container.is_pausing,
    };
}

// What each had a claim to in the tick that is over, now that it is known what the others wanted of
// it: what they left was for who wanted more.
void Arbiter::pay(std::int64_t tick, const std::map<Id, ContainerReading>& readings) {
    std::vector<Claim> claims;
    for (const auto& [id, reading] : readings) {
        const Container& container = containers_[id];
        claims.push_back(claim_of(container, reading, container.wanted));
    }
    const std::vector<double> deserved = fill(claims);
    std::size_t i = 0;
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        const Millionths rate = container.wants_more ? millionths(deserved[i]) : container.rate;
        for (int kind = 0; kind < kWorkKinds; kind++)
            pay(container, kind, part_of(tick, rate), reading.ceiling < kWhole);
        i++;
    }
}

void Arbiter::pay(Container& container, int kind, std::int64_t ns, bool has_ceiling) {
    std::int64_t& balance = container.balance_ns[kind];
    // What was saved up while it pressed is not lost by a tick in which it did not.
    const std::int64_t most = container.is_pausing          ? kMaxBalanceNs
                              : has_ceiling                 ? kMaxLagBelowCeilingNs
                              : container.is_pressing[kind] ? kMaxPressingLagNs
                                                            : std::max(kMaxLagNs, balance);
    balance += ns;
    std::int64_t& unpaid = container.unpaid_ns[kind];
    const std::int64_t beyond = std::max(-kMaxDebtNs - balance, std::int64_t{0});
    unpaid = balance > 0 ? 0 : unpaid + std::min(beyond, kMaxTimeNs - unpaid);
    balance = std::clamp(balance, -kMaxDebtNs, most);
}

// Of the tick to come: who is not at work now may stay so, and what he wants of it after all is
// known when it is over.
void Arbiter::share_out(const std::map<Id, ContainerReading>& readings) {
    std::vector<Claim> claims;
    std::vector<double> to_begin;
    for (const auto& [id, reading] : readings) {
        const Container& container = containers_[id];
        const double room = container.recent_use * kRoomToGrow + kRoomToBegin;
        claims.push_back(claim_of(container, reading, container.is_pausing ? 0 : room));
        const double least =
            container.is_pausing ? std::max(claims.back().cores, room) : claims.back().cores;
        to_begin.push_back(std::min(least, claims.back().ceiling));
    }
    const std::vector<double> rates = fill(claims);
    std::size_t i = 0;
    for (const auto& [id, reading] : readings) {
        // Who does not use what he is sure of can begin to at once, and so can who used less than
        // he may; the next tick takes it back from those who have it meanwhile.
        containers_[id].rate = millionths(std::max(rates[i], to_begin[i]));
        i++;
    }
}

void Arbiter::note_at_work(std::int64_t now, const std::map<Id, ContainerReading>& readings) {
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        container.is_at_work = reading.waits;
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const bool is_of_kind = is_at_work(reading, kind, now, container.is_busy[kind]);
            container.is_at_work |= is_of_kind;
            // Who has time left of a kind does not wait for that. Of who is new nothing is known.
            const bool waits = reading.waits && container.balance_ns[kind] <= 0;
            if (is_of_kind || waits || container.wanted_at_ns[kind] == 0)
                container.wanted_at_ns[kind] = now;
        }
    }
}

// Who owes nobody but those who want nothing now need not wait to pay: the card would stand idle.
// Nor who owes kernels to those who only copy, or copies to those who only compute: he has time for
// the tick to come, for his rate is what he has beside them.
void Arbiter::forgive(std::int64_t now, const std::map<Id, ContainerReading>& readings) {
    const auto wants = [now](const Container& container, int kind) {
        return now - container.wanted_at_ns[kind] < kUnwantedNs;
    };
    const auto at_work =
        std::ranges::count_if(containers_, [](const auto& of) { return of.second.is_at_work; });
    std::ptrdiff_t wanting[kWorkKinds] = {};
    for (int kind = 0; kind < kWorkKinds; kind++)
        wanting[kind] = std::ranges::count_if(
            containers_, [&](const auto& of) { return wants(of.second, kind); });
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        if (reading.ceiling < kWhole) continue;
        const bool is_alone = at_work == (container.is_at_work ? 1 : 0);
        for (int kind = 0; kind < kWorkKinds; kind++) {
            std::int64_t& balance = container.balance_ns[kind];
            if (is_alone)
                balance = std::max(balance, std::int64_t{0});
            else if (wanting[kind] == 1 && wants(container, kind))
                balance = std::max(balance, kMaxBalanceNs);
        }
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
        const double recent = container.recent_use * (1 - kForget) + use * kForget;
        container.recent_use = std::clamp(std::max(use, recent), 0.0, kMoreThanWhole);
        container.wanted = wanted_of(use, container.busy / static_cast<double>(tick));
    }
    for (const auto& [id, reading] : readings) {
        Container& container = containers_[id];
        // Or had work all the time: where the card divides itself by processes, and a neighbour has
        // many, that may be little, and not for want of more.
        container.wants_more = reading.waits || reading.waited_ns != container.known.waited_ns ||
                               container.is_pressing[0] || container.is_pressing[1];
    }
    if (!is_first && tick <= kLongestTickNs) {
        pay(tick, readings);
    } else {
        for (auto& [id, container] : containers_)
            std::ranges::copy(container.balance_before_ns, container.balance_ns);
        pay(0, readings);
    }
    note_at_work(now, readings);
    forgive(now, readings);
    share_out(readings);
    for (const auto& [id, reading] : readings)
        remember(containers_[id].known, now, reading);
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

const KnownTimes* Arbiter::known(Id id) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? &found->second.known : nullptr;
}

bool Arbiter::is_quiet() const {
    return std::ranges::all_of(containers_, [](const auto& known) { return known.second.is_idle; });
}

std::int64_t Arbiter::busy_ns(Id id, WorkKind kind) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? found->second.busy_ns[static_cast<int>(kind)] : 0;
}

std::int64_t Arbiter::used_ns(Id id, WorkKind kind) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? found->second.used_ns[static_cast<int>(kind)] : 0;
}

}  // namespace tessera::guard

#include "guard/arbiter/arbiter.hpp"

#include <algorithm>
#include <cmath>

#include "guard/arbiter/time_attribution.hpp"

namespace tessera::guard {
namespace {

constexpr double of_whole(Millionths part) {
    return static_cast<double>(part) / kWhole;
}

// A container that does not wait gets somewhat more than it used, so that it can use more.
constexpr double kRoomToGrow = 1.3;
constexpr double kRoomToBegin = 0.02;
// The value of Claim::wanted for a container that wants more.
constexpr double kMoreThanWhole = of_whole(kAloneRate);
// How fast past use is forgotten.
constexpr double kHalfForgottenNs = 50'000'000;
// A container pauses if it neither waited nor had work in flight for this long, and for half of the
// time.
constexpr double kPauseNs = 5'000'000;
// A container that had work or waited for more than this part of the time takes whatever it can
// get.
constexpr double kPress = 0.98;
// After a longer period, it is unknown which container wanted what at which time. No balance
// changes.
constexpr std::int64_t kLongestPeriodNs = 1'000'000'000;
// Before the first reading, no container did anything.
constexpr std::int64_t kTickOfNothingNs = 10'000'000;
// Between two kernels, a program that waits for each of them has nothing on the GPU.
constexpr std::int64_t kBetweenNs = 2'000'000;
// The container's next kernel is near. Until then, no other container may begin with its time. If
// it is wrongly taken to be done with the GPU, others have no claim to what they got of its time.
constexpr std::int64_t kJustNowNs = 500'000;
// A container that did not want a kind of work for this long does without it. It is not between two
// kernels or copies, nor does it pause between two bursts of them.
constexpr std::int64_t kUnwantedNs = 100'000'000;

Millionths millionths(double part) {
    return static_cast<Millionths>(std::lround(part * kWhole));
}

std::int64_t whole_ns(double ns) {
    constexpr auto kMost = static_cast<double>(kMaxTimeNs);
    return static_cast<std::int64_t>(std::clamp(ns, -kMost, kMost));
}

// The part of a GPU that a container would use if it had the GPU for itself. It used `use` while it
// had work for `busy`, and wanted nothing in the rest of the time.
double wanted_of(double use, double busy) {
    const double pause = std::max(1 - busy, 0.0);
    return use > 0 ? use / (use + pause) : 0;
}

bool is_any_since(const std::vector<Span>& spans, std::int64_t ns) {
    return std::ranges::any_of(spans, [ns](const Span& span) { return span.end_ns > ns; });
}

bool is_at_work(const ContainerReading& reading, int kind, std::int64_t now, bool was_busy) {
    bool is_known = false;
    for (const auto& [slot, process] : reading.processes) {
        const std::vector<Span>& spans = process.spans[kind];
        if (is_any_since(spans, now - kBetweenNs)) return true;
        is_known |= !spans.empty();
    }
    return was_busy && !is_known;
}

// It waits, has work on the GPU, or had some within kJustNowNs.
bool is_on_gpu(const ContainerReading& reading, std::int64_t now) {
    const auto has_work = [now](const SlotReading& of) {
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const bool is_open = of.process.since_ns[kind] != 0 && !of.process.is_lost[kind];
            if (is_open || is_any_since(of.process.spans[kind], now - kJustNowNs)) return true;
        }
        return false;
    };
    return reading.waits || std::ranges::any_of(reading.processes, has_work);
}

}  // namespace

double Arbiter::Did::used_ns() const {
    return std::max(of[0].used_ns, of[1].used_ns);
}

double Arbiter::Did::busy_ns() const {
    return std::max(of[0].busy_ns, of[1].busy_ns);
}

// A container that had work all the time may have had little GPU time, although it wanted more: the
// GPU divides itself by processes, and a neighbour may have many.
bool Arbiter::Did::wants_more() const {
    return has_waited || of[0].is_pressing || of[1].is_pressing;
}

bool Arbiter::wants(const Container& container, int kind, std::int64_t now) {
    return now - container.of[kind].wanted_at_ns < kUnwantedNs;
}

bool Arbiter::wants_any(const Container& container, std::int64_t now) {
    return wants(container, 0, now) || wants(container, 1, now);
}

Arbiter::Members Arbiter::members_of(const Readings& readings) {
    std::erase_if(containers_, [&](const auto& of) { return !readings.contains(of.first); });
    Members members;
    for (const auto& [id, reading] : readings)
        members.push_back({containers_[id], reading});
    return members;
}

void Arbiter::note_use(WorkKind kind, Span period, const Members& members) {
    const auto index = static_cast<std::size_t>(kind);
    std::vector<Report> reports;
    for (const auto& [container, reading] : members)
        reports.push_back({&container.known, &reading, container.of[index].part});
    // The engines for copies are shared out otherwise.
    const TimeSlices slices = kind == WorkKind::kernels ? slices_ : kNoTimeSlices;
    const std::vector<Use> by_member = uses(reports, kind, period, slices);
    for (std::size_t i = 0; i < members.size(); i++) {
        const Use& use = by_member[i];
        Container& container = members[i].container;
        Container::OfKind& of = container.of[index];
        const std::int64_t all_used = of.all_used_ns + whole_ns(use.own_ns);
        of.all_used_ns = std::clamp(all_used, std::int64_t{0}, kMaxTimeNs);
        of.all_busy_ns = std::min(of.all_busy_ns + whole_ns(use.busy_ns), kMaxTimeNs);
        of.part = use.part.value_or(of.part);
        container.did.has_work |= use.in_flight_ns > 0;
        container.did.of[index] = {.used_ns = use.own_ns, .busy_ns = use.busy_ns};
    }
}

void Arbiter::note_pressing(double period_ns, Container& container) {
    for (int kind = 0; kind < kWorkKinds; kind++) {
        Did::OfKind& did = container.did.of[kind];
        // A container with balance left for a kind has not waited for that kind.
        const bool has_left = container.of[kind].balance.ns() > 0;
        const double waited_ns = has_left ? 0 : std::min(container.did.waited_ns, period_ns);
        did.is_pressing = did.busy_ns > 0 && did.busy_ns + waited_ns > kPress * period_ns;
    }
}

void Arbiter::note_demand(double period_ns, Container& container) {
    Did& did = container.did;
    const double most_ns = std::min(period_ns / 2, std::max(period_ns - kPauseNs, 0.0));
    did.is_pausing = !did.has_waited && did.busy_ns() <= most_ns;
    const double use = did.used_ns() / period_ns;
    const double kept = std::exp2(-period_ns / kHalfForgottenNs);
    const double recent = container.recent_use * kept + use * (1 - kept);
    container.recent_use = std::clamp(std::max(use, recent), 0.0, kMoreThanWhole);
    container.wanted = wanted_of(use, did.busy_ns() / period_ns);
}

Claim Arbiter::claim_of(const Member& member, double wanted, bool comes_first) {
    const ContainerReading& reading = member.reading;
    const bool is_whole = reading.cores_limit >= kWhole;
    return {
        .cores = of_whole(reading.cores),
        .cores_limit = is_whole ? kMoreThanWhole : of_whole(reading.cores_limit),
        .wanted = wanted,
        .weight = of_whole(reading.cores > 0 ? reading.cores : kWeightOfNone),
        .comes_first = comes_first,
    };
}

// Credits what each container had a claim to since the last reading, now that it is known what the
// others wanted: what they left was for the containers that wanted more. All claims together are at
// most the whole GPU. A container that did not want more has no claim to what it was only allowed
// to begin with.
void Arbiter::pay(std::int64_t period_ns, const Members& members) {
    std::vector<Claim> claims;
    for (const Member& member : members) {
        const Container& container = member.container;
        const double wanted = container.did.wants_more() ? kMoreThanWhole : container.wanted;
        claims.push_back(claim_of(member, wanted, !container.did.is_pausing));
    }
    const std::vector<double> deserved = fill(claims);
    for (std::size_t i = 0; i < members.size(); i++) {
        const auto& [container, reading] = members[i];
        const bool wants_more = container.did.wants_more();
        const Millionths claim = millionths(deserved[i]);
        const Millionths rate =
            wants_more ? claim : std::min(container.rate, std::max(claim, reading.cores));
        for (int kind = 0; kind < kWorkKinds; kind++) {
            Balance& balance = container.of[kind].balance;
            balance.earn(part_of(period_ns, rate), most_saved(container, reading, kind));
        }
    }
}

// How far a container may be behind its share and still catch up.
std::int64_t Arbiter::most_saved(const Container& container, const ContainerReading& reading,
                                 int kind) {
    if (container.did.is_pausing) return kMaxBalanceNs;
    if (reading.cores_limit < kWhole) return kMaxLagBelowLimitNs;
    if (container.did.of[kind].is_pressing) return kMaxPressingLagNs;
    const std::int64_t most = container.did.wants_more() ? kMaxLagNs : kMaxBalanceNs;
    // What was saved up while it pressed is not lost at once.
    return std::max(most, container.of[kind].balance.ns());
}

// Shares out the time until the next reading. A container that is not at work now may stay so. What
// it wants of that time after all is known only at the next reading.
void Arbiter::share_out(std::int64_t now, const Members& members) {
    std::vector<Claim> claims;
    std::vector<double> to_begin;
    for (const Member& member : members) {
        const Container& container = member.container;
        const double room = container.recent_use * kRoomToGrow + kRoomToBegin;
        const bool stays = !container.did.is_pausing && is_on_gpu(member.reading, now);
        const double most = container.did.wants_more() ? kMoreThanWhole : room;
        claims.push_back(claim_of(member, stays ? most : 0, stays));
        const double least = stays ? claims.back().cores : std::max(claims.back().cores, room);
        to_begin.push_back(std::min(least, claims.back().cores_limit));
    }
    const std::vector<double> rates = fill(claims);
    const auto wanting = std::ranges::count_if(
        members, [now](const Member& member) { return wants_any(member.container, now); });
    // A container that does not use its guarantee, or that used less than it may, can begin at
    // once. The next tick takes that time back from those that have it meanwhile.
    for (std::size_t i = 0; i < members.size(); i++) {
        Container& container = members[i].container;
        const bool is_alone = wanting == (wants_any(container, now) ? 1 : 0);
        const bool has_all = is_alone && members[i].reading.cores_limit >= kWhole;
        const double rate = std::min(std::max(rates[i], to_begin[i]), 1.0);
        container.rate = has_all ? kAloneRate : millionths(rate);
    }
}

void Arbiter::note_wanted(std::int64_t now, const Members& members) {
    for (const auto& [container, reading] : members) {
        container.is_at_work = reading.waits;
        for (int kind = 0; kind < kWorkKinds; kind++) {
            Container::OfKind& of = container.of[kind];
            const bool is_of_kind =
                is_at_work(reading, kind, now, container.did.of[kind].busy_ns > 0);
            container.is_at_work |= is_of_kind;
            // A container with balance left for a kind does not wait for that kind. Nothing is
            // known of a new container.
            const bool waits = reading.waits && of.balance.ns() <= 0;
            if (is_of_kind || waits || of.wanted_at_ns == 0) of.wanted_at_ns = now;
        }
    }
}

// A container that owes time only to containers that want nothing now need not wait, because the
// GPU would be idle. The same applies to one kind of work, if all others use only the other kind.
// Then the container gets time for the next tick, because its rate already accounts for the others.
void Arbiter::forgive(std::int64_t now, const Members& members) {
    const auto at_work = std::ranges::count_if(
        members, [](const Member& member) { return member.container.is_at_work; });
    std::ptrdiff_t wanting[kWorkKinds] = {};
    for (int kind = 0; kind < kWorkKinds; kind++) {
        wanting[kind] = std::ranges::count_if(
            members, [&](const Member& member) { return wants(member.container, kind, now); });
    }
    for (const Member& member : members) {
        Container& container = member.container;
        if (member.reading.cores_limit < kWhole) continue;
        const bool is_alone = at_work == (container.is_at_work ? 1 : 0);
        for (int kind = 0; kind < kWorkKinds; kind++) {
            Balance& balance = container.of[kind].balance;
            if (is_alone) {
                balance.forgive_up_to(0);
            } else if (wanting[kind] == 1 && wants(container, kind, now)) {
                balance.forgive_up_to(kMaxBalanceNs);
            }
        }
    }
}

std::map<Arbiter::Id, Granted> Arbiter::decide(std::int64_t now, const Readings& readings) {
    const Members members = members_of(readings);
    const bool is_first = as_of_ns_ == 0 || now <= as_of_ns_;
    const Span period = {is_first ? now - kTickOfNothingNs : as_of_ns_, now};
    const std::int64_t period_ns = now - period.start_ns;
    const bool is_known = !is_first && period_ns <= kLongestPeriodNs;
    for (const auto& [container, reading] : members) {
        const std::int64_t waited_ns = reading.waited_ns - container.known.waited_ns;
        container.did = {.waited_ns = static_cast<double>(waited_ns),
                         .has_waited = reading.waits || waited_ns != 0};
    }
    for (const WorkKind kind : {WorkKind::kernels, WorkKind::copies})
        if (!is_first) note_use(kind, period, members);
    for (const Member& member : members) {
        Container& container = member.container;
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const std::int64_t used_ns = whole_ns(container.did.of[kind].used_ns);
            if (is_known) container.of[kind].balance.use(used_ns);
        }
        note_pressing(length_of(period), container);
        note_demand(length_of(period), container);
    }
    pay(is_known ? period_ns : 0, members);
    note_wanted(now, members);
    forgive(now, members);
    share_out(now, members);
    for (const auto& [container, reading] : members)
        remember(container.known, now, reading);
    as_of_ns_ = now;
    std::map<Id, Granted> granted;
    for (const auto& [id, container] : containers_) {
        Granted& grant = granted[id];
        grant.as_of_ns = now;
        grant.rate = container.rate;
        for (int kind = 0; kind < kWorkKinds; kind++) {
            const Container::OfKind& of = container.of[kind];
            grant.of[kind] = {of.balance.ns(), of.part};
        }
    }
    return granted;
}

const KnownTimes* Arbiter::known(Id id) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? &found->second.known : nullptr;
}

bool Arbiter::is_quiet() const {
    return std::ranges::all_of(containers_, [](const auto& of) { return of.second.did.is_idle(); });
}

std::int64_t Arbiter::busy_ns(Id id, WorkKind kind) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? found->second.of[static_cast<int>(kind)].all_busy_ns : 0;
}

std::int64_t Arbiter::used_ns(Id id, WorkKind kind) const {
    const auto found = containers_.find(id);
    return found != containers_.end() ? found->second.of[static_cast<int>(kind)].all_used_ns : 0;
}

}  // namespace tessera::guard

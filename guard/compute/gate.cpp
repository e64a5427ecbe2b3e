#include "guard/compute/gate.hpp"

#include <time.h>

#include <algorithm>

#include "guard/compute/order.hpp"
#include "guard/compute/outstanding.hpp"
#include "guard/compute/timing.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/place.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/mapping.hpp"
#include "guard/region/process_time.hpp"
#include "guard/region/uncancelled.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kShortestSleepNs = 50'000;
constexpr std::int64_t kLongestSleepNs = 5'000'000;
constexpr std::int64_t kYieldNs = 500'000;  // while it is another's turn
// No word of the arbiter for so long, and nobody knows what the container's others had since.
constexpr std::int64_t kLateNs = 50'000'000;
// And for so long: it is gone, and who wants more than he is sure of gets no more.
constexpr std::int64_t kStaleNs = 1'000'000'000;
constexpr std::int64_t kOwnTickNs = 10'000'000;

// What the process had in flight in all when the grant was written. Looked up when a grant is first
// seen, some time later: what ended in between is taken as before it, for one tick.
void see(Timing::Seen& seen, const InFlight& mine, const Granted& granted, WorkKind kind,
         std::int64_t now) {
    // One may have been read before the mutex was had, and be older than what another saw since.
    if (seen.granted_ns >= granted.as_of_ns) return;
    const std::int64_t since = mine.since_ns.load(std::memory_order_relaxed);
    const std::int64_t from = since > granted.as_of_ns ? since : granted.as_of_ns;
    const std::int64_t after = since != 0 && from < now ? now - from : 0;
    seen = {granted.as_of_ns, granted.as_of_ns, in_flight_ns(mine, now) - after,
            granted.of[static_cast<int>(kind)].balance_ns};
}

// What the balance is now, if the neighbours do as they did in the last tick. Without an arbiter
// each process counts for itself, from its part of what that left. Wants the mutex of timing().
std::int64_t balance_ns(int card, WorkKind kind, const Granted& granted, std::int64_t now) {
    const auto index = static_cast<int>(kind);
    const InFlight& mine = card_time(card).in_flight[index];
    Timing::Seen& seen = timing(card).seen[index];
    see(seen, mine, granted, kind, now);
    const std::int64_t in_flight = in_flight_ns(mine, now);
    // What is given back for long counts when the arbiter has seen it.
    const std::int64_t in_flight_since = std::max(in_flight - seen.in_flight_ns, -kOwnTickNs);
    const std::int64_t used = part_of(in_flight_since, granted.of[index].part);
    const bool is_everybodys = seen.as_of_ns == seen.granted_ns;
    const bool is_late = now - granted.as_of_ns > kLateNs;
    std::int64_t balance = seen.balance_ns;
    if (is_late && is_everybodys) balance /= timing(card).at_work.processes;
    balance += part_of(now - seen.as_of_ns, granted.rate) - used;
    if (now - granted.as_of_ns <= kStaleNs || now - seen.as_of_ns < kOwnTickNs) return balance;
    // Nothing is saved up over a pause.
    seen = {granted.as_of_ns, now, in_flight, balance < kOwnTickNs ? balance : kOwnTickNs};
    return seen.balance_ns;
}

bool is_at_work(const ProcessTime& time, std::int64_t now) {
    const bool is_any = time.waiting.load() != 0 || time.in_flight[0].since_ns.load() != 0 ||
                        time.in_flight[1].since_ns.load() != 0;
    return is_any && now < believed_until(time);
}

// Of the dead some say for ever that they are; where nobody can be asked for, it is this one alone.
int count_at_work(int card, std::int64_t now) {
    char path[kMaxPath];
    if (!path_of(kAccountsName, path)) return 1;
    const Opened file(path, O_RDONLY);
    if (file.fd() < 0) return 1;
    const Accounts& accounts = *seat().accounts;
    const int end = slots_end(accounts);
    int count = 0;
    for (int slot = 0; slot < end; slot++)
        if (is_at_work(accounts.times[slot][card], now) && is_lived_in(file.fd(), slot)) count++;
    return count > 1 ? count : 1;
}

int processes_at_work(int card, std::int64_t now) {
    constexpr std::int64_t kAgainNs = 500'000'000;
    Timing::AtWork& known = timing(card).at_work;
    {
        const Locked lock(timing(card).mutex);
        if (known.processes != 0 && now - known.as_of_ns < kAgainNs) return known.processes;
    }
    const int count = count_at_work(card, now);
    const Locked lock(timing(card).mutex);
    known = {now, count};
    return count;
}

// What a container gets of whose neighbours nothing is known: what it is sure of. Who is sure of
// nothing is not to stop, nor to go on at what was left over when the arbiter went.
Millionths rate_without_arbiter(const CardLimit& limit) {
    const Millionths sure = limit.cores.load(std::memory_order_relaxed);
    return sure != 0 ? sure
                     : std::min(kWeightOfNone, limit.ceiling.load(std::memory_order_relaxed));
}

// Without an arbiter the container's processes have equal parts, and soon of that.
Millionths rate_of(int card, const Granted& granted, std::int64_t now) {
    if (now - granted.as_of_ns <= kLateNs) return granted.rate;
    const bool is_gone = now - granted.as_of_ns > kStaleNs;
    const Millionths rate =
        is_gone ? std::min(granted.rate, rate_without_arbiter(card_limit(card))) : granted.rate;
    return rate / static_cast<Millionths>(processes_at_work(card, now));
}

// What the container may give the card beyond its balance: where next to nobody else wants the
// card, enough that it never stands idle between two kernels; no more, for it cannot be called back
// when somebody does.
std::int64_t credit_ns(const Granted& granted) {
    constexpr Millionths kNearlyAll = kWhole - kWhole / 100;
    constexpr std::int64_t kAloneNs = 100'000'000;
    return granted.rate >= kNearlyAll ? kAloneNs : 0;
}

std::int64_t sleep_for(std::int64_t missing_ns, Millionths rate) {
    if (rate == 0) return kLongestSleepNs;
    __extension__ using Wide = __int128;
    const auto ns = static_cast<std::int64_t>(static_cast<Wide>(missing_ns) * kWhole / rate);
    if (ns < kShortestSleepNs) return kShortestSleepNs;
    return ns < kLongestSleepNs ? ns : kLongestSleepNs;
}

}  // namespace

bool is_timed(int card) {
    return card_limit(card).is_timed.load(std::memory_order_relaxed) != 0;
}

std::int64_t time_to_turn(int card, const Asking& asking) {
    const CardLimit& limit = card_limit(card);
    Granted granted = read_grant(limit.grant);
    if (granted.as_of_ns == 0 || !is_timed(card)) return 0;
    const std::int64_t now = monotonic_ns();
    note_seen(card, now);
    granted.rate = rate_of(card, granted, now);
    const Locked lock(timing(card).mutex);
    const std::int64_t balance = balance_ns(card, asking.kind, granted, now);
    const Millionths part = granted.of[static_cast<int>(asking.kind)].part;
    std::int64_t own = asking.ahead_ns;
    if (asking.may_others_be)
        own = std::max(own, outstanding_ns(card, asking.kind, seat().slot, now));
    const auto missing_ns = [&] {
        const std::int64_t others = others_outstanding_ns(card, asking.kind, now);
        return part_of(own + others, part) - credit_ns(granted) - balance;
    };
    const auto after = [&](std::int64_t ns) {
        stand_in_line(card, asking.kind, now);
        return ns;
    };
    const std::int64_t missing = missing_ns();
    const std::int64_t given_ns = own + asking.about_ns;
    const bool is_long = given_ns >= kLeastOutstandingNs;
    if (missing >= 0 || is_long) note_had(card, asking.kind, now);
    if (missing >= 0) return after(sleep_for(missing + 1, granted.rate));
    // Where each has a balance of its own they need not take turns.
    const bool is_in_turns = is_long && now - granted.as_of_ns <= kLateNs;
    if (is_in_turns && is_anothers_turn(card, asking.kind, now)) return after(kYieldNs);
    // Said before it is looked again whether others have: of those who ask at once none has his
    // turn, at worst, and not all.
    const std::int64_t before = expect(card, asking.kind, is_long ? now + given_ns : 0, now);
    const std::int64_t missing_now = is_long ? missing_ns() : missing;
    if (missing_now >= 0) {
        expect(card, asking.kind, before, now);
        return after(sleep_for(missing_now + 1, granted.rate));
    }
    leave_line(card, asking.kind);
    timing(card).flights[static_cast<int>(asking.kind)].promised++;
    return 0;
}

std::int64_t debt_time_ns(int card) {
    const Granted granted = read_grant(card_limit(card).grant);
    const Millionths rate = rate_of(card, granted, monotonic_ns());
    return rate == 0 ? kNever : kMaxDebtNs * kWhole / rate;
}

Waiting::Waiting(int card) : time_(card_time(card)), since_(monotonic_ns()) {
    time_.waiting.fetch_add(1, std::memory_order_relaxed);
}

Waiting::~Waiting() {
    time_.waited_ns.fetch_add(monotonic_ns() - since_, std::memory_order_relaxed);
    time_.waiting.fetch_sub(1, std::memory_order_relaxed);
}

void sleep_ns(std::int64_t ns) {
    const timespec sleep = {ns / 1'000'000'000, ns % 1'000'000'000};
    const Uncancelled uncancelled;
    nanosleep(&sleep, nullptr);
}

void note_seen(int card, std::int64_t now) {
    card_time(card).seen_ns.store(now, std::memory_order_relaxed);
}

void note_in_flight(int card, WorkKind kind, std::int64_t since_ns) {
    card_time(card).in_flight[static_cast<int>(kind)].since_ns.store(since_ns,
                                                                     std::memory_order_relaxed);
}

void note_work(int card, WorkKind kind, Span work) {
    InFlight& mine = card_time(card).in_flight[static_cast<int>(kind)];
    const std::int64_t ns = work.end_ns - work.start_ns;
    mine.total_ns.store(mine.total_ns.load(std::memory_order_relaxed) + ns,
                        std::memory_order_relaxed);
    const OwnLog own = flight_log();
    const Locked lock(own.mutex);
    FlightLog& log = own.log;
    const std::uint64_t number = log.total.load(std::memory_order_relaxed);
    FlightLog::Entry& entry = log.entries[number % kLogEntries];
    entry.start_ns.store(work.start_ns, std::memory_order_relaxed);
    entry.what.store(pack_piece({work.start_ns, ns, card, kind}), std::memory_order_relaxed);
    log.total.store(number + 1, std::memory_order_release);
}

}  // namespace tessera::guard

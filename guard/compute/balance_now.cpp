#include "guard/compute/balance_now.hpp"

#include <fcntl.h>

#include <algorithm>

#include "guard/compute/timing.hpp"
#include "guard/process/locked.hpp"
#include "guard/process/process.hpp"
#include "guard/region/mapping.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {
namespace {

// Without a word of the arbiter for so long it is late,
constexpr std::int64_t kLateNs = 50'000'000;
// and after so long it is gone: who wants more than he is sure of gets no more.
constexpr std::int64_t kStaleNs = 1'000'000'000;
constexpr std::int64_t kOwnTickNs = 10'000'000;

// What the process had in flight in all when the grant was written. Looked up when a grant is first
// seen, some time later: what ended in between is taken as before it, for one tick.
void note_grant(Timing::AsOfGrant& seen, const InFlight& mine, const Granted& granted,
                WorkKind kind, std::int64_t now) {
    // One may have been read before the mutex was had, and be older than what another saw since.
    if (seen.granted_ns >= granted.as_of_ns) return;
    const std::int64_t since = mine.since_ns.load(std::memory_order_relaxed);
    const std::int64_t from = since > granted.as_of_ns ? since : granted.as_of_ns;
    const std::int64_t after = since != 0 && from < now ? now - from : 0;
    seen = {granted.as_of_ns, granted.as_of_ns, in_flight_ns(mine, now) - after,
            granted.of[static_cast<int>(kind)].balance_ns};
}

bool is_at_work(const ProcessTime& time, std::int64_t now) {
    const bool is_any = time.waiting.load() != 0 || time.in_flight[0].since_ns.load() != 0 ||
                        time.in_flight[1].since_ns.load() != 0;
    return is_any && now < believed_until(time);
}

// Of the dead some say for ever that they are; where nobody can be asked for, it is this one alone.
int count_at_work(int card, std::int64_t now) {
    const Opened file(accounts_path(), O_RDONLY);
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

}  // namespace

bool is_late(const Granted& granted, std::int64_t now) {
    return now - granted.as_of_ns > kLateNs;
}

// Without an arbiter the container's processes have equal parts, and soon of that.
Millionths rate_of(int card, const Granted& granted, std::int64_t now) {
    if (!is_late(granted, now)) return granted.rate;
    const bool is_gone = now - granted.as_of_ns > kStaleNs;
    const Millionths rate =
        is_gone ? std::min(granted.rate, rate_without_arbiter(card_limit(card))) : granted.rate;
    return rate / static_cast<Millionths>(processes_at_work(card, now));
}

// Without an arbiter each process counts for itself, from its part of what that left.
std::int64_t balance_ns(int card, WorkKind kind, const Granted& granted, std::int64_t now) {
    const auto index = static_cast<int>(kind);
    const InFlight& mine = card_time(card).in_flight[index];
    Timing::AsOfGrant& seen = timing(card).seen[index];
    note_grant(seen, mine, granted, kind, now);
    const std::int64_t in_flight = in_flight_ns(mine, now);
    // What is given back for long counts when the arbiter has seen it.
    const std::int64_t in_flight_since = std::max(in_flight - seen.in_flight_ns, -kOwnTickNs);
    const std::int64_t used = part_of(in_flight_since, granted.of[index].part);
    const bool is_everybodys = seen.as_of_ns == seen.granted_ns;
    std::int64_t balance = seen.balance_ns;
    if (is_late(granted, now) && is_everybodys) balance /= timing(card).at_work.processes;
    balance += part_of(now - seen.as_of_ns, granted.rate) - used;
    if (now - granted.as_of_ns <= kStaleNs || now - seen.as_of_ns < kOwnTickNs) return balance;
    // Nothing is saved up over a pause.
    seen = {granted.as_of_ns, now, in_flight, balance < kOwnTickNs ? balance : kOwnTickNs};
    return seen.balance_ns;
}

}  // namespace tessera::guard

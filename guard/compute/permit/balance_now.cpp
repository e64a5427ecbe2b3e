#include "guard/compute/permit/balance_now.hpp"

#include <fcntl.h>

#include <algorithm>

#include "guard/base/locked.hpp"
#include "guard/process/process.hpp"
#include "guard/process/timing.hpp"
#include "guard/region/mapping.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {
namespace {

// The arbiter is late if its last grant is older than this,
constexpr std::int64_t kLateNs = 50'000'000;
// and gone if it is older than this: a process that wants more than its guarantee gets no more.
constexpr std::int64_t kStaleNs = 1'000'000'000;
constexpr std::int64_t kOwnTickNs = 10'000'000;

// What the process had in flight in all when the grant was written. It is read when the grant is
// first seen, some time later. Work that ended in between counts as before the grant, for one tick.
void note_grant(Timing::AsOfGrant& seen, const InFlight& mine, const Granted& granted,
                WorkKind kind, std::int64_t now) {
    // A grant that was read before the lock may be older than one that another thread has noted.
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

// Some dead processes keep claiming that they have work, so each is checked. If the accounts cannot
// be opened, only this process counts.
int count_at_work(int gpu, std::int64_t now) {
    const Opened file(accounts_path(), O_RDONLY);
    if (file.fd() < 0) return 1;
    const Accounts& accounts = *process_slot().accounts;
    const int end = slots_end(accounts);
    int count = 0;
    for (int slot = 0; slot < end; slot++)
        if (is_at_work(accounts.times[slot][gpu], now) && is_alive(file.fd(), slot)) count++;
    return count > 1 ? count : 1;
}

int processes_at_work(int gpu, std::int64_t now) {
    constexpr std::int64_t kAgainNs = 500'000'000;
    Timing::AtWork& known = timing(gpu).at_work;
    {
        const Locked lock(timing(gpu).mutex);
        if (known.processes != 0 && now - known.as_of_ns < kAgainNs) return known.processes;
    }
    const int count = count_at_work(gpu, now);
    const Locked lock(timing(gpu).mutex);
    known = {now, count};
    return count;
}

// What a container gets when nothing is known of its neighbours: its guarantee. A container without
// a guarantee must not stop. It must also not go on at the rate that was left over when the arbiter
// went.
Millionths rate_without_arbiter(const GpuLimit& limit) {
    const Millionths sure = limit.cores.load(std::memory_order_relaxed);
    return sure != 0 ? sure
                     : std::min(kWeightOfNone, limit.cores_limit.load(std::memory_order_relaxed));
}

}  // namespace

bool is_late(const Granted& granted, std::int64_t now) {
    return now - granted.as_of_ns > kLateNs;
}

// Without an arbiter the container's processes get equal parts of the last rate. After kStaleNs
// they get equal parts of at most rate_without_arbiter().
Millionths rate_of(int gpu, const Granted& granted, std::int64_t now) {
    if (!is_late(granted, now)) return granted.rate;
    const bool is_gone = now - granted.as_of_ns > kStaleNs;
    const Millionths rate =
        is_gone ? std::min(granted.rate, rate_without_arbiter(gpu_limit(gpu))) : granted.rate;
    return rate / static_cast<Millionths>(processes_at_work(gpu, now));
}

// Without an arbiter each process counts for itself. It starts with its part of the last balance.
std::int64_t balance_ns(int gpu, WorkKind kind, const Granted& granted, std::int64_t now) {
    const auto index = static_cast<int>(kind);
    const InFlight& mine = gpu_time(gpu).in_flight[index];
    Timing::AsOfGrant& seen = timing(gpu).seen[index];
    note_grant(seen, mine, granted, kind, now);
    const std::int64_t in_flight = in_flight_ns(mine, now);
    // Time that is given back beyond one tick counts only once the arbiter has seen it.
    const std::int64_t in_flight_since = std::max(in_flight - seen.in_flight_ns, -kOwnTickNs);
    const std::int64_t used = part_of(in_flight_since, granted.of[index].part);
    const bool is_everybodys = seen.as_of_ns == seen.granted_ns;
    std::int64_t balance = seen.balance_ns;
    if (is_late(granted, now) && is_everybodys) balance /= timing(gpu).at_work.processes;
    balance += part_of(now - seen.as_of_ns, granted.rate) - used;
    if (now - granted.as_of_ns <= kStaleNs || now - seen.as_of_ns < kOwnTickNs) return balance;
    // Nothing is saved up during a pause.
    seen = {granted.as_of_ns, now, in_flight, balance < kOwnTickNs ? balance : kOwnTickNs};
    return seen.balance_ns;
}

}  // namespace tessera::guard

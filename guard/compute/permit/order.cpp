#include "guard/compute/permit/order.hpp"

#include <algorithm>

#include "guard/compute/permit/outstanding.hpp"
#include "guard/process/process.hpp"
#include "guard/process/timing.hpp"
#include "guard/region/grant.hpp"
#include "guard/region/process_time.hpp"

namespace tessera::guard {
namespace {

// A process that waits asks again sooner than this. One that does not is dead, is stopped, or has
// given up.
constexpr std::int64_t kAsksAgainNs = 20'000'000;
// A process that neither worked nor waited for this long counts as new.
constexpr std::int64_t kAwayNs = 20'000'000;
// How far a process that wants less than the others may be ahead when it wants more.
constexpr std::int64_t kMostSavedNs = 50'000'000;

Accounts::Order& order_of(int gpu, WorkKind kind) {
    return process_slot().accounts->orders[gpu][static_cast<int>(kind)];
}

// A tenant may have written any number.
std::int64_t read(const std::atomic<std::int64_t>& had_ns) {
    return std::clamp(had_ns.load(std::memory_order_relaxed), std::int64_t{0}, INT64_MAX / 4);
}

bool is_queued(const Accounts::Order& order, int slot, std::int64_t now) {
    const std::int64_t asked = order.asked_ns[slot].load(std::memory_order_relaxed);
    return asked <= now && asked > now - kAsksAgainNs;
}

// All processes that wait or have long work, including this one.
struct AtWork {
    int count;
    std::int64_t least_had_ns;
};

AtWork look_at_work(int gpu, WorkKind kind, std::int64_t now) {
    const ProcessSlot mine = process_slot();
    const Accounts::Order& order = order_of(gpu, kind);
    const int end = slots_end(*mine.accounts);
    AtWork at_work = {1, read(order.had_ns[mine.slot])};
    for (int slot = 0; slot < end; slot++) {
        if (slot == mine.slot) continue;
        if (!is_queued(order, slot, now) && outstanding_ns(gpu, kind, slot, now) == 0) continue;
        at_work.count++;
        at_work.least_had_ns = std::min(at_work.least_had_ns, read(order.had_ns[slot]));
    }
    return at_work;
}

}  // namespace

void note_had(int gpu, WorkKind kind, std::int64_t now) {
    Accounts::Order& order = order_of(gpu, kind);
    Timing::Had& noted = timing(gpu).had[static_cast<int>(kind)];
    const std::int64_t total = in_flight_ns(gpu_time(gpu).in_flight[static_cast<int>(kind)], now);
    const bool is_first = noted.as_of_ns == 0;
    // A process that has had only short work for a long time was not recorded here, so its time is
    // clamped.
    const std::int64_t since =
        is_first ? 0 : std::clamp(total - noted.in_flight_ns, -kMaxDebtNs, kMaxDebtNs);
    const bool is_new = is_first || now - noted.as_of_ns - since > kAwayNs;
    noted = {now, total};
    std::atomic<std::int64_t>& had = order.had_ns[process_slot().slot];
    const std::int64_t level = read(order.level_ns);
    const std::int64_t least = is_new ? level : level - kMostSavedNs;
    had.store(is_first ? least : std::max(read(had) + since, least), std::memory_order_relaxed);
    if (since == 0) return;
    const AtWork at_work = look_at_work(gpu, kind, now);
    order.level_ns.store(std::max(level + since / at_work.count, at_work.least_had_ns),
                         std::memory_order_relaxed);
}

bool is_permitted_to_another(int gpu, WorkKind kind, std::int64_t now) {
    const ProcessSlot mine = process_slot();
    const Accounts::Order& order = order_of(gpu, kind);
    const auto had = [&](int slot) {
        return read(order.had_ns[slot]) + outstanding_ns(gpu, kind, slot, now);
    };
    const std::int64_t own = had(mine.slot);
    const int end = slots_end(*mine.accounts);
    for (int slot = 0; slot < end; slot++) {
        if (slot != mine.slot && is_queued(order, slot, now) && had(slot) < own) return true;
    }
    return false;
}

void enqueue(int gpu, WorkKind kind, std::int64_t now) {
    order_of(gpu, kind).asked_ns[process_slot().slot].store(now, std::memory_order_relaxed);
}

void dequeue(int gpu, WorkKind kind) {
    order_of(gpu, kind).asked_ns[process_slot().slot].store(0, std::memory_order_relaxed);
}

}  // namespace tessera::guard

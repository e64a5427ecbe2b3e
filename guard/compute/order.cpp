#include "guard/compute/order.hpp"

#include <algorithm>

#include "guard/process/process.hpp"

namespace tessera::guard {
namespace {

// Who waits asks again sooner than that; who does not is dead, is stopped, or has given up.
constexpr std::int64_t kAsksAgainNs = 20'000'000;
constexpr std::int64_t kComesBackNs = 3'000'000;

Accounts::Order& order_of(int card, WorkKind kind) {
    return seat().accounts->orders[card][static_cast<int>(kind)];
}

bool is_in_line(const Accounts::Order& order, int slot, std::int64_t now) {
    const std::int64_t asked = order.asked_ns[slot].load(std::memory_order_relaxed);
    return asked <= now && asked > now - kAsksAgainNs;
}

// Where the process's next turn is. Who was not in line has saved up nothing.
std::int64_t own_turn(const Accounts::Order& order, int slot, std::int64_t now) {
    constexpr std::int64_t kMost = INT64_MAX / 2;  // a tenant may have written any number
    std::int64_t next = order.next_ns[slot].load(std::memory_order_relaxed);
    if (!is_in_line(order, slot, now))
        next = std::max(next, order.turn_ns.load(std::memory_order_relaxed));
    return std::clamp(next, std::int64_t{0}, kMost);
}

}  // namespace

bool is_anothers_turn(int card, WorkKind kind, std::int64_t now) {
    const Seat mine = seat();
    const Accounts::Order& order = order_of(card, kind);
    const std::int64_t turn = own_turn(order, mine.slot, now);
    const int end = slots_end(*mine.accounts);
    for (int slot = 0; slot < end; slot++) {
        if (slot == mine.slot || !is_in_line(order, slot, now)) continue;
        if (order.next_ns[slot].load(std::memory_order_relaxed) < turn) return true;
    }
    return false;
}

void stand_in_line(int card, WorkKind kind, std::int64_t now) {
    Accounts::Order& order = order_of(card, kind);
    const int slot = seat().slot;
    order.next_ns[slot].store(own_turn(order, slot, now), std::memory_order_relaxed);
    order.asked_ns[slot].store(now, std::memory_order_relaxed);
}

void take_turn(int card, WorkKind kind, std::int64_t now, std::int64_t ns) {
    Accounts::Order& order = order_of(card, kind);
    const int slot = seat().slot;
    const std::int64_t turn = own_turn(order, slot, now);
    order.turn_ns.store(turn, std::memory_order_relaxed);
    order.next_ns[slot].store(turn + ns, std::memory_order_relaxed);
    // Who waits for his work has none in between: he is still in line for a little after it.
    const std::int64_t back_ns = std::min(ns + kComesBackNs, kAsksAgainNs);
    order.asked_ns[slot].store(now - kAsksAgainNs + back_ns, std::memory_order_relaxed);
}

}  // namespace tessera::guard

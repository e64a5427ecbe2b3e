#include "guard/region/account.hpp"

#include "guard/region/pair.hpp"

namespace tessera::guard {
namespace {

constexpr unsigned kAllocationUnitBits = 24;
constexpr unsigned kSlotBits = 16;
constexpr std::uint64_t kAllocationUnitMask = kMaxAllocationUnits;
constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;
static_assert(kMaxProcesses <= (1 << kSlotBits) && 2 * kAllocationUnitBits + kSlotBits == 64);

struct Move {
    std::uint64_t version;
    AllocationUnits held;       // by the container since then
    int slot;                   // the slot that moved
    AllocationUnits slot_held;  // by that slot since then
};

Move unpack(const Pair& pair) {
    return {pair.version, static_cast<AllocationUnits>(pair.value & kAllocationUnitMask),
            static_cast<int>(pair.value >> kAllocationUnitBits & kSlotMask),
            static_cast<AllocationUnits>(pair.value >> (kAllocationUnitBits + kSlotBits))};
}

Pair pack(const Move& move) {
    const std::uint64_t slot = static_cast<std::uint64_t>(move.slot) << kAllocationUnitBits;
    const std::uint64_t slot_held = std::uint64_t{move.slot_held}
                                    << (kAllocationUnitBits + kSlotBits);
    return {move.version, slot_held | slot | move.held};
}

// A tenant may have written anything into the file.
bool is_sound(const Move& move) {
    return move.slot < kMaxProcesses;
}

// Writes the result of the last move into the slot that moved, unless it is already there.
void settle(Accounts& accounts, int gpu, const Move& move) {
    if (!is_sound(move)) return;
    Pair& of_slot = accounts.slots[move.slot].held[gpu];
    const Pair seen = load(of_slot);
    // If this fails, another process has written it, and perhaps a later one.
    if (seen.version < move.version) replace(of_slot, seen, {move.version, move.slot_held});
}

AllocationUnits less(AllocationUnits from, AllocationUnits what) {
    return what < from ? from - what : 0;
}

bool add(Move& now, AllocationUnits units, AllocationUnits limit) {
    if (units > kMaxAllocationUnits - now.held || now.held + units > limit) return false;
    now.held += units;
    now.slot_held += units;
    return true;
}

bool take_off(Move& now, AllocationUnits units) {
    const AllocationUnits given = units < now.slot_held ? units : now.slot_held;
    now.held = less(now.held, given);
    now.slot_held -= given;
    return true;
}

// Applies `change` to what the slot holds, and retries until the result replaces the latest state.
// Returns false and changes nothing if `change` returns false.
template <typename Change>
bool move(Accounts& accounts, int gpu, int slot, const Change& change) {
    Pair& last = accounts.gpus[gpu].last_move;
    for (;;) {
        const Pair seen = load(last);
        const Move before = unpack(seen);
        settle(accounts, gpu, before);
        // Valid as of `before`: all moves up to it are in their slots. If the slot has a later
        // value, the account has moved on, and replace() fails.
        const auto slot_held = static_cast<AllocationUnits>(
            load(accounts.slots[slot].held[gpu]).value & kAllocationUnitMask);
        Move after{before.version + 1, before.held, slot, slot_held};
        if (!change(after)) return false;
        if (!replace(last, seen, pack(after))) continue;
        settle(accounts, gpu, after);
        return true;
    }
}

}  // namespace

bool reserve(Accounts& accounts, int gpu, int slot, AllocationUnits units, AllocationUnits limit) {
    return move(accounts, gpu, slot, [=](Move& now) { return add(now, units, limit); });
}

void release(Accounts& accounts, int gpu, int slot, AllocationUnits units) {
    move(accounts, gpu, slot, [=](Move& now) { return take_off(now, units); });
}

// move() evaluates the condition at each try, after it has read the version that its write depends
// on. A clear() that follows the change of the word has a later version, so the write fails.
bool reserve_while(Accounts& accounts, int gpu, int slot, AllocationUnits units,
                   const Condition& condition) {
    return move(accounts, gpu, slot, [&](Move& now) {
        return condition.word.load() == condition.value && add(now, units, kMaxAllocationUnits);
    });
}

void release_while(Accounts& accounts, int gpu, int slot, AllocationUnits units,
                   const Condition& condition) {
    move(accounts, gpu, slot, [&](Move& now) {
        return condition.word.load() == condition.value && take_off(now, units);
    });
}

bool lower_to(Accounts& accounts, int gpu, int slot, AllocationUnits units, std::uint64_t version) {
    bool is_of_that_version = false;
    move(accounts, gpu, slot, [&](Move& now) {
        is_of_that_version = now.version == version + 1;
        if (!is_of_that_version || now.slot_held <= units) return false;
        return take_off(now, now.slot_held - units);
    });
    return is_of_that_version;
}

AllocationUnits clear(Accounts& accounts, int gpu, int slot) {
    AllocationUnits given = 0;
    move(accounts, gpu, slot, [&given](Move& now) {
        given = now.slot_held;
        now.held = less(now.held, given);
        now.slot_held = 0;
        return given != 0;
    });
    return given;
}

AllocationUnits held(const Accounts& accounts, int gpu) {
    return held(accounts.gpus[gpu]);
}

AllocationUnits held(const Account& account) {
    return unpack(load(account.last_move)).held;
}

std::uint64_t version_of(const Accounts& accounts, int gpu) {
    return load(accounts.gpus[gpu].last_move).version;
}

AllocationUnits held_by(const Accounts& accounts, int gpu, int slot) {
    return held_by(accounts.gpus[gpu], gpu, {slot, accounts.slots[slot]});
}

AllocationUnits held_by(const Account& account, int gpu, const OneSlot& of) {
    const Move last = unpack(load(account.last_move));
    if (last.slot == of.number && last.version != 0) return last.slot_held;
    return static_cast<AllocationUnits>(load(of.slot.held[gpu]).value & kAllocationUnitMask);
}

}  // namespace tessera::guard

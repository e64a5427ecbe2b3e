#include "guard/region/account.hpp"

#include "guard/region/pair.hpp"

namespace tessera::guard {
namespace {

constexpr unsigned kGranuleBits = 24;
constexpr unsigned kSlotBits = 16;
constexpr std::uint64_t kGranuleMask = kMaxGranules;
constexpr std::uint64_t kSlotMask = (std::uint64_t{1} << kSlotBits) - 1;
static_assert(kMaxProcesses <= (1 << kSlotBits) && 2 * kGranuleBits + kSlotBits == 64);

struct Move {
    std::uint64_t version;
    Granules held;       // by the container, since
    int slot;            // that moved
    Granules slot_held;  // by it, since
};

Move unpack(const Pair& pair) {
    return {pair.version, static_cast<Granules>(pair.value & kGranuleMask),
            static_cast<int>(pair.value >> kGranuleBits & kSlotMask),
            static_cast<Granules>(pair.value >> (kGranuleBits + kSlotBits))};
}

Pair pack(const Move& move) {
    const std::uint64_t slot = static_cast<std::uint64_t>(move.slot) << kGranuleBits;
    const std::uint64_t slot_held = std::uint64_t{move.slot_held} << (kGranuleBits + kSlotBits);
    return {move.version, slot_held | slot | move.held};
}

// A tenant may have written anything into the file.
bool is_sound(const Move& move) {
    return move.slot < kMaxProcesses;
}

// Writes what the last move says into the slot that moved, unless it stands there.
void settle(Accounts& accounts, int card, const Move& move) {
    if (!is_sound(move)) return;
    Pair& of_slot = accounts.slots[move.slot].held[card];
    const Pair seen = load(of_slot);
    // Where this fails another has written it, and perhaps a later one.
    if (seen.version < move.version) replace(of_slot, seen, {move.version, move.slot_held});
}

Granules less(Granules from, Granules what) {
    return what < from ? from - what : 0;
}

bool add(Move& now, Granules granules, Granules limit) {
    if (granules > kMaxGranules - now.held || now.held + granules > limit) return false;
    now.held += granules;
    now.slot_held += granules;
    return true;
}

bool take_off(Move& now, Granules granules) {
    const Granules given = granules < now.slot_held ? granules : now.slot_held;
    now.held = less(now.held, given);
    now.slot_held -= given;
    return true;
}

// Applies `change` to what the slot holds until it is applied to the latest. False, and nothing
// changed, where it says so.
template <typename Change>
bool move(Accounts& accounts, int card, int slot, const Change& change) {
    Pair& last = accounts.cards[card].last_move;
    for (;;) {
        const Pair seen = load(last);
        const Move before = unpack(seen);
        settle(accounts, card, before);
        // Right as of `before`: all moves up to it stand in their slots. Where it is later than
        // that, the account has moved on, and replace() fails.
        const auto slot_held =
            static_cast<Granules>(load(accounts.slots[slot].held[card]).value & kGranuleMask);
        Move after{before.version + 1, before.held, slot, slot_held};
        if (!change(after)) return false;
        if (!replace(last, seen, pack(after))) continue;
        settle(accounts, card, after);
        return true;
    }
}

}  // namespace

bool reserve(Accounts& accounts, int card, int slot, Granules granules, Granules limit) {
    return move(accounts, card, slot, [=](Move& now) { return add(now, granules, limit); });
}

void release(Accounts& accounts, int card, int slot, Granules granules) {
    move(accounts, card, slot, [=](Move& now) { return take_off(now, granules); });
}

// move() asks again at each try, after it has read the version that its write depends on: a clear()
// that follows the change of the word is a later version.
bool reserve_while(Accounts& accounts, int card, int slot, Granules granules,
                   const Condition& condition) {
    return move(accounts, card, slot, [&](Move& now) {
        return condition.word.load() == condition.value && add(now, granules, kMaxGranules);
    });
}

void release_while(Accounts& accounts, int card, int slot, Granules granules,
                   const Condition& condition) {
    move(accounts, card, slot, [&](Move& now) {
        return condition.word.load() == condition.value && take_off(now, granules);
    });
}

bool lower_to(Accounts& accounts, int card, int slot, Granules granules, std::uint64_t version) {
    bool is_of_that_version = false;
    move(accounts, card, slot, [&](Move& now) {
        is_of_that_version = now.version == version + 1;
        if (!is_of_that_version || now.slot_held <= granules) return false;
        return take_off(now, now.slot_held - granules);
    });
    return is_of_that_version;
}

Granules clear(Accounts& accounts, int card, int slot) {
    Granules given = 0;
    move(accounts, card, slot, [&given](Move& now) {
        given = now.slot_held;
        now.held = less(now.held, given);
        now.slot_held = 0;
        return given != 0;
    });
    return given;
}

Granules held(const Accounts& accounts, int card) {
    return held(accounts.cards[card]);
}

Granules held(const Account& account) {
    return unpack(load(account.last_move)).held;
}

std::uint64_t version_of(const Accounts& accounts, int card) {
    return load(accounts.cards[card].last_move).version;
}

Granules held_by(const Accounts& accounts, int card, int slot) {
    return held_by(accounts.cards[card], card, {slot, accounts.slots[slot]});
}

Granules held_by(const Account& account, int card, const OneSlot& of) {
    const Move last = unpack(load(account.last_move));
    if (last.slot == of.number && last.version != 0) return last.slot_held;
    return static_cast<Granules>(load(of.slot.held[card]).value & kGranuleMask);
}

}  // namespace tessera::guard

// The amount of a GPU's memory that the container holds. It is exact at any instant, although any
// process may be killed between two instructions, and no stopped process can keep a lock: there is
// none.
//
// The account of a GPU is one value: the container's total, the slot that moved it last, and what
// that slot has held since. So a move is one compare-and-swap, and it is complete when that
// succeeds. The slot's own entry is written after it. If the process that moved is dead or slow,
// the next process that moves writes that entry first. Slots are therefore right except for the
// last move, which the account knows.
//
// Any thread of any process of the container may call these functions.
#pragma once

#include <cstdint>

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Adds to what the slot holds of the GPU, unless the container would then hold more than `limit`.
bool reserve(Accounts& accounts, int gpu, int slot, AllocationUnits units, AllocationUnits limit);
// Subtracts it again, but no more than the slot holds.
void release(Accounts& accounts, int gpu, int slot, AllocationUnits units);

// The same for another process's slot, but only while `word` is `value`. The process that clears
// the slot changes the word first, so nothing is subtracted from a slot that a later process has
// taken. If the word has changed, reserve_while() returns false.
struct Condition {
    const std::atomic<std::uint64_t>& word;
    std::uint64_t value;
};
bool reserve_while(Accounts& accounts, int gpu, int slot, AllocationUnits units,
                   const Condition& condition);
void release_while(Accounts& accounts, int gpu, int slot, AllocationUnits units,
                   const Condition& condition);

// Lowers what the slot holds of the GPU to `units`, if the account still has that version. Returns
// false and changes nothing if the account has moved since.
bool lower_to(Accounts& accounts, int gpu, int slot, AllocationUnits units, std::uint64_t version);

// Subtracts everything that the slot holds of the GPU, and returns how much it was.
AllocationUnits clear(Accounts& accounts, int gpu, int slot);

// Total of the container.
[[nodiscard]] AllocationUnits held(const Accounts& accounts, int gpu);
AllocationUnits held(const Account& account);
// Stays the same until the account moves.
std::uint64_t version_of(const Accounts& accounts, int gpu);
// Total of one process.
[[nodiscard]] AllocationUnits held_by(const Accounts& accounts, int gpu, int slot);
// The same from copies of a GPU's account and of the slot.
struct OneSlot {
    int number;
    const Slot& slot;
};
AllocationUnits held_by(const Account& account, int gpu, const OneSlot& of);

}  // namespace tessera::guard

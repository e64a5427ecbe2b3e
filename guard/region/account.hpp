// How much of a card the container holds, exact at any instant although any process may be killed
// between two instructions, and without a lock that a stopped process could keep.
//
// The account of a card says in one value what is held in all, which slot moved it last, and what
// that slot holds since. So a move is one compare-and-swap, and is done when that is done. What the
// slot itself says comes after it: whoever moves next writes it first, should the one who moved be
// dead or slow. Slots are therefore right but for the last move, which the account knows.
//
// Any thread of any process of the container.
#pragma once

#include <cstdint>

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Adds to what the slot holds of the card, unless the container would then hold more than `limit`.
bool reserve(Accounts& accounts, int card, int slot, Granules granules, Granules limit);
// Takes it off again; no more than the slot holds.
void release(Accounts& accounts, int card, int slot, Granules granules);

// The same for another's slot, and only while `word` is `value`: whoever clears the slot changes
// the word first, so nothing is taken off one that is a later process's by then. Where it is not,
// reserve_while() says false.
struct Condition {
    const std::atomic<std::uint64_t>& word;
    std::uint64_t value;
};
bool reserve_while(Accounts& accounts, int card, int slot, Granules granules,
                   const Condition& condition);
void release_while(Accounts& accounts, int card, int slot, Granules granules,
                   const Condition& condition);

// Takes off what the slot holds of the card above so much, as of that version of the account.
// False, and nothing was changed, where the account has moved since.
bool lower_to(Accounts& accounts, int card, int slot, Granules granules, std::uint64_t version);

// Takes off all that the slot holds of the card. How much that was.
Granules clear(Accounts& accounts, int card, int slot);

// Of the container.
[[nodiscard]] Granules held(const Accounts& accounts, int card);
Granules held(const Account& account);
// The same as long as nothing has moved.
std::uint64_t version_of(const Accounts& accounts, int card);
// Of one process.
[[nodiscard]] Granules held_by(const Accounts& accounts, int card, int slot);
// The same from copies of a card's account and of the slot.
struct OneSlot {
    int number;
    const Slot& slot;
};
Granules held_by(const Account& account, int card, const OneSlot& of);

}  // namespace tessera::guard

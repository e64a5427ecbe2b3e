// Work that the container's processes have given a card and not paid for yet. Each says until when
// it expects to be at it; without, all who wait for their turn would take the same one, and of long
// kernels that is a second of the card's time and more. What a process says lapses by itself, and
// soon where the guard does not run in it any more, so nobody need know whether it lives.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Less is not said: a turn is for about as much.
inline constexpr std::int64_t kLeastOutstandingNs = 2'000'000;

// The process expects to have work until then (0: none that is long), kMaxDebtNs from now at most:
// a kernel that is longer is not paid for in full. What was expected before. By one thread at a
// time.
std::int64_t expect(int card, WorkKind kind, std::int64_t end_ns, std::int64_t now);
void expect_nothing(int card, WorkKind kind);
// How much longer the process in a slot, if it is not silent, has work in flight, as it says,
std::int64_t outstanding_ns(int card, WorkKind kind, int slot, std::int64_t now);
// and all but this one, each for itself, together.
std::int64_t others_outstanding_ns(int card, WorkKind kind, std::int64_t now);

}  // namespace tessera::guard

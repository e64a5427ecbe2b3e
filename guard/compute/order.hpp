// Whose turn it is among a container's processes, where there is a turn for one: by what each has
// had, so that one with many threads, or with long kernels, does not keep the others from theirs.
// Start-time fair queueing: Goyal, Vin and Cheng, SIGCOMM 1996; here the card's time counts, each
// process has one queue, and who has short work need not wait for it. Any thread.
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// Another that asked just now comes first.
bool is_anothers_turn(int card, WorkKind kind, std::int64_t now);
// It has to wait: since now, or still.
void stand_in_line(int card, WorkKind kind, std::int64_t now);
// It has its turn, for so much of the card's time.
void take_turn(int card, WorkKind kind, std::int64_t now, std::int64_t ns);

}  // namespace tessera::guard

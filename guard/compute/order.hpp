// Whose turn it is among a container's processes, where there is a turn for one: by the card's time
// that each has had, so that one with many threads, or with long kernels, does not keep the others
// from theirs. As in WF2Q+ (Bennett and Zhang, IEEE/ACM Transactions on Networking 1997) who comes
// new begins at a level that grows by what all at work have had, in equal parts, and is never below
// the least of these; but what counts is what was really had, not what a piece will take. Who has
// short work need not wait, and nobody waits for one that does not. Any thread, with the mutex of
// the card's timing().
#pragma once

#include "guard/region/layout.hpp"

namespace tessera::guard {

// When a flight ends, and before it is asked whose turn it is.
void note_had(int card, WorkKind kind, std::int64_t now);
// Another waits that has had less, with what is still outstanding of it.
bool is_anothers_turn(int card, WorkKind kind, std::int64_t now);
// It waits: since now, or still.
void stand_in_line(int card, WorkKind kind, std::int64_t now);
// It has its turn, or waits no more.
void leave_line(int card, WorkKind kind);

}  // namespace tessera::guard

// A thread of the guard's for each card that finds out that work has ended for which nobody waits
// in a way that the guard knows. Without it (a process that cannot have threads) such work counts
// until the next wait.
#pragma once

namespace tessera::guard {

// Work is in flight on the card. Starts the thread where there is none; no call of the system's
// else.
void need_watch(int card);

}  // namespace tessera::guard

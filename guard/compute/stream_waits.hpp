// What a stream waits for on the card between its kernels: another stream's work
// (cuStreamWaitEvent), a function of the host. That is no work of its, and neither is it certain
// how long it takes: a mark before it and one behind it say so. All functions want the mutex of the
// card's timing().
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

// The stream is about to be given something to wait for. Its next launch takes a turn.
void begin_wait(StreamTiming& of);
// It is about to be given work behind it, if it was.
void go_on_behind_wait(StreamTiming& of);
// It has nothing to do since then but to wait; 0: it has, or that cannot be told.
std::int64_t waits_since_ns(const StreamTiming& of);

}  // namespace tessera::guard

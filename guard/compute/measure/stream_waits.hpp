// What a stream waits for on the GPU between its kernels: another stream's work
// (cuStreamWaitEvent), or a host function. That time is not the stream's work, and its length is
// not known in advance. A pacing event before the wait and one behind it measure it. All functions
// require the mutex of the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"

namespace tessera::guard {

// The stream is about to be given something to wait for. Its next launch takes a permit.
void begin_wait(StreamTiming& of);
// The stream is about to be given work. If it was at a wait, that wait ends here.
void go_on_behind_wait(StreamTiming& of);
// Since when the stream only waits; 0: it has work, or that is not known.
std::int64_t waits_since_ns(const StreamTiming& of);

}  // namespace tessera::guard

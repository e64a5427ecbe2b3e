// When events happened, by this process's clock. For that, each context has an event of the guard's
// own, whose time is known, in a stream that never has work and never waits. All functions require
// the mutex of the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"

namespace tessera::guard {

// Sets the clock of the stream's context, if it has none or an old one. The driver gives the time
// between two events in milliseconds as a float, which has no microseconds left after some minutes.
// Returns when the clock was set; 0 if it cannot be set.
std::int64_t set_clock(const StreamTiming& of, std::int64_t now);
// When an event of the stream happened, by the clock that was set at clock_ns. 0: not known. The
// result is too early by the time that the GPU took to reach the clock's event, except for the part
// of it that is known (Clock::late_ns).
std::int64_t happened_at(const StreamTiming& of, CUevent event, std::int64_t clock_ns);
// The event cannot have happened then, but by_ns later (less than 0: earlier).
void note_too_soon(const StreamTiming& of, std::int64_t by_ns);
// The event is known to have happened. The GPU's clock and the process's clock drift apart.
// Estimates that are too late would make all events that are seen together appear simultaneous.
void note_happened(const StreamTiming& of, CUevent event, std::int64_t clock_ns);
// The context no longer exists.
void forget_clock(int gpu, CUcontext context);

}  // namespace tessera::guard

// What the process had in flight: the union of its streams' work intervals, reported to the arbiter
// as far as it is known. All functions require the mutex of the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

Timing::BusyInterval& busy_interval_of(const StreamTiming& of);

int streams_in_flight(int gpu);

// A permit that was taken (gate.hpp) has led to work in flight, or will not lead to any. Until this
// call, the outstanding work that was published stays, even if other work ends.
void end_permit(int gpu, WorkKind kind);

// One more stream of the busy interval has work, from of.began_ns on.
void join_busy_interval(const StreamTiming& of);
// The stream's work did not begin before ns.
void begin_later(StreamTiming& of, std::int64_t ns);
// The stream had no work in that time, which is not before of.began_ns, and has work again.
void pause(StreamTiming& of, Span without);
// The stream's work has ended. It had work in that time, which is not before of.began_ns. What is
// final is settled.
void leave_busy_interval(const StreamTiming& of, Span work);

}  // namespace tessera::guard

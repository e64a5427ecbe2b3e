// When events happened, by the process's clock: a context has an event of the guard's own, in a
// stream that never has work and waits for nobody, of which is known when it was recorded. All
// functions want the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

// Sets the clock of the stream's context, where it has none or an old one: events are told from it
// in milliseconds as a float, which has no microseconds left after some minutes. When it was set; 0
// where it cannot be.
std::int64_t set_clock(const StreamTiming& of, std::int64_t now);
// When an event of the stream happened, by the clock of then; 0 where it cannot be told. Too soon
// by what the card took to come to the clock's own, but for what is known of that.
std::int64_t happened_at(const StreamTiming& of, CUevent event, std::int64_t clock_ns);
// It cannot have been so soon.
void is_too_soon(const StreamTiming& of, std::int64_t by_ns);
// The event is known to have happened: the card's clock and the process's drift apart, and by one
// that is late all that is seen at once would seem to have been at once.
void has_happened(const StreamTiming& of, CUevent event, std::int64_t clock_ns);
// The context is no more.
void forget_clock(int card, CUcontext context);

}  // namespace tessera::guard

// What the process had in flight: the union of its streams' pieces of work, told to the arbiter as
// far as it is known. All functions want the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

Timing::Flight& flight_of(const StreamTiming& of);

int streams_in_flight(int card);

// A turn that was had (gate.hpp) has led to a piece of work in flight, or will lead to none. Until
// then what was said to be outstanding stands, whatever ends meanwhile.
void keep_promise(int card, WorkKind kind);

// One more stream of the flight has work from of.began_ns on.
void join_flight(const StreamTiming& of);
// It has not begun before then.
void begin_later(StreamTiming& of, std::int64_t ns);
// It had none in that time, no sooner than of.began_ns, and has some again.
void pause(StreamTiming& of, Span without);
// It has ended, and had work in that time, no sooner than of.began_ns. What is known for good is
// settled.
void leave_flight(const StreamTiming& of, Span work);

}  // namespace tessera::guard

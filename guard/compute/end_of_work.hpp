// Whether a stream has done all that it was given: as the driver says, or an event behind it. All
// functions want the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

// Whether this thread can ask the driver for the stream: the name of a default stream is that of
// the current context's, or of the thread's own there.
bool can_ask(const StreamTiming& of);
// Whether the stream has nothing to do, and nobody is about to give it any. One that cannot be
// asked, or is left, where its end is known.
bool is_done(const StreamTiming& of);

// Somebody begins to wait for the end of what the stream has been given so far.
void await_end(StreamTiming& of);
bool is_end_awaited(const StreamTiming& of);
// Has an event recorded behind it. False where that cannot be.
bool record_end(StreamTiming& of);
// It was recorded, and the stream got no more.
bool is_end_known(const StreamTiming& of);
// Whether it may be recorded before a wait. Not in the default stream of a context while others
// have work.
bool may_record(const StreamTiming& of);
// The stream is about to be no more, and its work goes on. False where nobody will know when that
// has ended.
bool record_leaving(StreamTiming& of);

}  // namespace tessera::guard

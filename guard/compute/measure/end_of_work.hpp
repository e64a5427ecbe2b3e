// Whether a stream has done all that it was given, as the driver or an event behind it says. All
// functions require the mutex of the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"

namespace tessera::guard {

// Whether this thread can query the stream. A default stream's handle means the current context's
// default stream, or this thread's own one there.
bool can_ask(const StreamTiming& of);
// Whether the stream has nothing to do, and no thread is about to give it work. A stream that
// cannot be queried, or is left, is done when the event at its end has been reached, if there is
// one.
bool is_done(const StreamTiming& of);

// A thread begins to wait for the end of what the stream has been given so far.
void await_end(StreamTiming& of);
bool is_end_awaited(const StreamTiming& of);
// Records an event behind the stream's work. False if that is not possible.
bool record_end(StreamTiming& of);
// The end was recorded, and the stream got no more work since.
bool is_end_known(const StreamTiming& of);
// Whether an event may be recorded before a wait. Not in the default stream of a context while
// other streams have work.
bool may_record(const StreamTiming& of);
// The stream is about to be destroyed, and its work goes on. False if its end could never be
// learned.
bool record_leaving(StreamTiming& of);

}  // namespace tessera::guard

// A stream's piece of work: from the launch that found it idle until its work is known to have
// ended, by the clock and, of some, by events. All functions want the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// Copies of the stream that are on their way count as kernels from now on where these come behind
// them, and not as what they wait for.
void begin_piece(StreamTiming& of, WorkKind kind, bool is_behind_copies);
// One of which it is to be told by events when it ended.
void begin_measured_piece(StreamTiming& of, WorkKind kind);
// The piece has ended, and was that work, which somebody waited for.
void end_measured_piece(StreamTiming& of, Span work);
// Beginning and end of such a piece in one.
void note_piece(StreamTiming& of, WorkKind kind, Span work);
// When the work in flight was done, which is over, by events before it and behind it. Empty where
// there are none.
Span measured_work(const StreamTiming& of, std::int64_t now);
// There is an event before the work in flight: with one behind it, it can be told how long it was.
bool has_start(const StreamTiming& of);
// Whether the end may be recorded before a wait. Not in the default stream of a context while
// others have work.
bool may_record(const StreamTiming& of);
// Somebody begins to wait for the end of what the stream has been given so far.
void await_end(StreamTiming& of);
bool is_end_awaited(const StreamTiming& of);
// The end of what the stream has been given so far. False where that cannot be.
bool record_end(StreamTiming& of);
// It was recorded, and the stream got no more.
bool is_end_known(const StreamTiming& of);
// How: where somebody waited, from before the end was recorded or awaited.
void end_piece(StreamTiming& of, Ended how);
// Where it is found done.
void end_if_done(StreamTiming& of, Ended how);
// The stream is about to be no more, and its work goes on. False where nobody will know when that
// has ended.
bool record_leaving(StreamTiming& of);

// A piece that is in flight may not have begun: what the stream waits for first is no work of its.
void look_whether_begun(StreamTiming& of);

// Whether this thread can ask the driver for the stream: the name of a default stream is that of
// the current context's, or of the thread's own there.
bool can_ask(const StreamTiming& of);
// Whether the stream has nothing to do, and nobody is about to give it any. One that cannot be
// asked, or is left, where its end is known.
bool is_done(const StreamTiming& of);

}  // namespace tessera::guard

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
// How that is learnt: by a wait only where it began before the end was recorded or awaited.
void end_piece(StreamTiming& of, Ended how);
// Where it is found done.
void end_if_done(StreamTiming& of, Ended how);

// A piece that is in flight may not have begun: what the stream waits for first is no work of its.
void look_whether_begun(StreamTiming& of);

}  // namespace tessera::guard

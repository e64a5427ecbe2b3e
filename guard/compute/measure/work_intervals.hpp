// A stream's work interval: from the launch that found the stream idle until its work is known to
// have ended. It is measured by the clock and, for some, by events. All functions require the mutex
// of the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"
#include "guard/region/layout.hpp"

namespace tessera::guard {

// Kernels behind copies (is_behind_copies): those of the copies that are still on their way count
// as kernels from now on, and not as something that the kernels wait for.
void begin_interval(StreamTiming& of, WorkKind kind, bool is_behind_copies);
// Begins a work interval whose end is measured by events.
void begin_measured_interval(StreamTiming& of, WorkKind kind);
// That work interval has ended. It was the work `work`, and a thread waited for it.
void end_measured_interval(StreamTiming& of, Span work);
// Begins and ends such a work interval in one call.
void record_interval(StreamTiming& of, WorkKind kind, Span work);
// When the work in flight was done, by the events before it and behind it. The work must be over.
// Empty if there are no events.
Span measured_work(const StreamTiming& of, std::int64_t now);
// An event is before the work in flight. With one behind it, the length of the work is known.
bool has_start(const StreamTiming& of);
// `how`: how the end is learned. It is a wait only if the wait began before the end was recorded or
// awaited.
void end_interval(StreamTiming& of, Ended how);
// Ends the work interval if its work is found done.
void end_if_done(StreamTiming& of, Ended how);

// A work interval in flight may not have begun: what the stream waits for first is not its work.
void look_whether_begun(StreamTiming& of);

}  // namespace tessera::guard

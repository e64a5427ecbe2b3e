// Estimates how much of a stretch of a stream's time was work, if the program was late with the
// next launch: the program is busy launching, and the GPU is idle between small kernels. An event
// behind each launch would tell, but it costs more than the launch.
//
// So launches are counted. The launch behind a pacing event, whose place is random, is measured by
// itself: by an event before it and an event behind it. A stretch is assumed to be as much work as
// its launches would take, each at the mean of the recently measured ones. This is wrong for one
// stretch and right for many: an estimate that exceeds the length of a stretch is carried over to
// the next ones.
//
// The estimate alone gives no bound, so the work is never less than what is certain. From when the
// end of the stretch was recorded behind all of its launches, or from when a thread waited for that
// end, there was no pause until the end. Certain work beyond the mean is deducted from the next
// stretches, because such long launches are in the mean as well.
//
// This works for a stream that is alone in flight, with work of one kind. Several streams wait for
// each other, and their common pauses do not follow from what each of them did. All functions
// require the mutex of the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"

namespace tessera::guard {

// The stream begins a work interval, or a pacing event has been recorded in it.
void begin_stretch(StreamTiming& of);
// Nothing is known about pauses in the stretch that began last.
bool is_untold(const StreamTiming& of);

// What is known of launches of the kind that the stream has in flight.
LaunchedWork& work_of(StreamTiming& of);

}  // namespace tessera::guard

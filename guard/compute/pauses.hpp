// What of a stretch of a stream's time was work, where the program was late with the next launch:
// it is busy launching, and the card idle between small kernels. An event behind each of them would
// say so, but costs more than the launch.
//
// So launches are counted, and one in every mark's, by lot, is measured by an event before it and
// one behind it: what it took by itself. A stretch is taken to be as much work as it had launches,
// each as long as those measured of late were in the mean. That is wrong for one stretch and right
// for many: what is more than a stretch lasted counts in the next ones. And it bounds nothing by
// itself, so it is never less than what is certain: from when its end was recorded behind all of
// its launches, or somebody waited for that, there was no pause until it came. What that is more
// than the mean is taken off the next ones: the launches that took so long are in the mean as well.
//
// It can be told of a stream that is alone in flight, with work of one kind. Where there are
// several they wait for each other, and how long their pauses are together does not follow from
// what each of them did. All functions want the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

// The stream begins a piece of work, or a mark has been set in it.
void begin_stretch(StreamTiming& of);
// Nothing can be told of the stretch that began last.
bool is_untold(const StreamTiming& of);

// Of the kind that it has in flight.
LaunchedWork& work_of(StreamTiming& of);

}  // namespace tessera::guard

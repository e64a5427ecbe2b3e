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

// A launch was measured, and stands for so many: all that the lot might have met in its place,
// wherever the program waits between them. What came to be launched behind it would not do: where
// in a piece of work a launch is would decide what it counts.
void learn_launch(StreamTiming& of, std::int64_t ns, int stands_for);

struct Stretch {
    Span span;
    int launches;
    std::int64_t first_ns;          // that the first of them took; less than 0: it was not measured
    std::int64_t pause_at_most_ns;  // the rest is work for certain
};

// How much of it was none. Each is to be taken once, and so is one without a pause for certain.
std::int64_t take_pause_ns(StreamTiming& of, const Stretch& stretch);

}  // namespace tessera::guard

// What of a stretch of a stream's time was work, where the program was late with the next launch:
// it is busy launching, and the card idle between small kernels. An event behind each of them would
// say so, but costs more than the launch.
//
// So launches are counted, and one in every mark's, by lot, is measured by an event before it and
// one behind it: what it took by itself. A stretch is as much work as it had launches, each as long
// as the last ones measured were in the mean. Where that is more than the stretch, long ones were
// among those measured that were short in others: it is work in the next ones. All functions want
// the mutex of the card's timing().
//
// That of a stream which is alone in flight. Where there are several they wait for each other, and
// how long their pauses are together is not known from what each of them did.
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

// The stream begins a piece of work, or a mark has been set in it.
void begin_stretch(StreamTiming& of);
// Nobody can tell of the stretch that began last: there are other streams in flight.
bool may_not_pause(const StreamTiming& of);
// A launch that was measured.
void learn_launch(StreamTiming& of, std::int64_t ns);

struct Stretch {
    std::int64_t ns;
    int launches;
    std::int64_t first_ns;  // that the first of them took; less than 0: it was not measured
};

// How much of it was none. Each is to be asked for once.
std::int64_t pause_ns(StreamTiming& of, const Stretch& stretch);

}  // namespace tessera::guard

#include "guard/compute/measure/pauses.hpp"

#include "guard/compute/measure/busy_intervals.hpp"

namespace tessera::guard {

void begin_stretch(StreamTiming& of) {
    const Timing::BusyInterval& busy = busy_interval_of(of);
    of.since.joined = busy.joined;
    of.since.is_untold = busy.streams > 1;
    of.since.has_wait = false;
}

bool is_untold(const StreamTiming& of) {
    return of.since.is_untold || busy_interval_of(of).joined != of.since.joined;
}

LaunchedWork& work_of(StreamTiming& of) {
    return of.work[static_cast<int>(of.kind)];
}

}  // namespace tessera::guard

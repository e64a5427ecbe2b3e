#include "guard/compute/pauses.hpp"

#include "guard/compute/flights.hpp"

namespace tessera::guard {

void begin_stretch(StreamTiming& of) {
    const Timing::Flight& flight = flight_of(of);
    of.since.joined = flight.joined;
    of.since.is_untold = flight.streams > 1;
    of.since.has_wait = false;
}

bool is_untold(const StreamTiming& of) {
    return of.since.is_untold || flight_of(of).joined != of.since.joined;
}

LaunchedWork& work_of(StreamTiming& of) {
    return of.work[static_cast<int>(of.kind)];
}

}  // namespace tessera::guard

#include "guard/compute/pauses.hpp"

#include "guard/compute/flights.hpp"

namespace tessera::guard {

void begin_stretch(StreamTiming& of) {
    const Timing::Flight& flight = flight_of(of);
    of.joined = flight.joined;
    of.is_untold = flight.streams > 1;
    of.has_wait = false;
}

bool is_untold(const StreamTiming& of) {
    return of.is_untold || flight_of(of).joined != of.joined;
}

LaunchedWork& work_of(StreamTiming& of) {
    return of.work[static_cast<int>(of.kind)];
}

}  // namespace tessera::guard

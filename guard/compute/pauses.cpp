#include "guard/compute/pauses.hpp"

#include <algorithm>

#include "guard/compute/flights.hpp"

namespace tessera::guard {
namespace {

// Of what was measured, so much is forgotten with each that is new.
constexpr double kForget = 1.0 / 32;
// What comes before each launch that is measured (its way to the card, where that is idle) is no
// work either, so that the surplus of a stream with few pauses grows.
constexpr std::int64_t kMaxSurplusNs = 10'000'000;

LaunchedWork& work_of(StreamTiming& of) {
    return of.work[static_cast<int>(of.kind)];
}

}  // namespace

void begin_stretch(StreamTiming& of) {
    const Timing::Flight& flight = flight_of(of);
    of.joined = flight.joined;
    of.is_untold = flight.streams > 1;
}

bool is_untold(const StreamTiming& of) {
    return of.is_untold || flight_of(of).joined != of.joined;
}

void learn_launch(StreamTiming& of, std::int64_t ns, int stands_for) {
    LaunchedWork& work = work_of(of);
    work.sum_ns += static_cast<double>(ns) * stands_for - work.sum_ns * kForget;
    work.launches += stands_for - work.launches * kForget;
}

std::int64_t take_pause_ns(StreamTiming& of, const Stretch& stretch) {
    LaunchedWork& known = work_of(of);
    const std::int64_t length = stretch.span.end_ns - stretch.span.start_ns;
    if (known.launches < 1 || length <= 0) return 0;
    const bool is_first_known = stretch.first_ns >= 0 && stretch.launches > 0;
    const int others = std::max(stretch.launches - (is_first_known ? 1 : 0), 0);
    const std::int64_t work = (is_first_known ? stretch.first_ns : 0) +
                              static_cast<std::int64_t>(known.sum_ns / known.launches * others) +
                              known.surplus_ns;
    const std::int64_t longest = std::clamp(stretch.pause_at_most_ns, std::int64_t{0}, length);
    const std::int64_t pause = std::clamp(length - work, std::int64_t{0}, longest);
    known.surplus_ns = std::clamp(work - (length - pause), -kMaxSurplusNs, kMaxSurplusNs);
    return pause;
}

}  // namespace tessera::guard

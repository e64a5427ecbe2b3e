#include "guard/compute/pauses.hpp"

#include <algorithm>

#include "guard/compute/flights.hpp"

namespace tessera::guard {
namespace {

constexpr int kSamples = 32;
// What comes before each launch that is measured (its way to the card, where that is idle) is no
// work either, so that the surplus of a stream without pauses grows.
constexpr std::int64_t kMaxSurplusNs = 50'000'000;

}  // namespace

void begin_stretch(StreamTiming& of) {
    const Timing::Flight& flight = flight_of(of);
    of.joined = flight.joined;
    of.has_no_pause = flight.streams > 1;
}

bool may_not_pause(const StreamTiming& of) {
    return of.has_no_pause || flight_of(of).joined != of.joined;
}

void learn_launch(StreamTiming& of, std::int64_t ns) {
    LaunchedWork& work = of.work[static_cast<int>(of.kind)];
    if (work.samples < kSamples) work.samples++;
    work.each_ns += (static_cast<double>(ns) - work.each_ns) / work.samples;
}

std::int64_t pause_ns(StreamTiming& of, const Stretch& stretch) {
    LaunchedWork& known = of.work[static_cast<int>(of.kind)];
    if (known.samples == 0) return 0;
    const bool is_first_known = stretch.first_ns >= 0 && stretch.launches > 0;
    const int others = stretch.launches - (is_first_known ? 1 : 0);
    const std::int64_t work = (is_first_known ? stretch.first_ns : 0) +
                              static_cast<std::int64_t>(known.each_ns * others) + known.surplus_ns;
    known.surplus_ns = std::clamp(work - stretch.ns, std::int64_t{0}, kMaxSurplusNs);
    return std::max(stretch.ns - work, std::int64_t{0});
}

}  // namespace tessera::guard

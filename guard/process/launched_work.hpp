// How much of a stretch of time was work, estimated from its number of launches (pauses.hpp).
#pragma once

#include "guard/region/clock.hpp"

namespace tessera::guard {

// How much work a stream's launches are. Zero at first: nothing is known.
struct LaunchedWork {
    // Sum over the measured launches, each weighted by the number of launches that it represents.
    double sum_ns;
    double launches;  // sum of these weights; both sums decay
    std::int64_t
        surplus_ns;  // work that has not been charged yet; less than 0: too much was charged
};

// A launch was measured, and represents `stands_for` launches: all that the random choice might
// have picked in its place, wherever the program waits between them. Counting the launches that
// happened to follow it would be wrong: then a launch's place in a work interval would decide its
// weight.
void learn_launch(LaunchedWork& known, std::int64_t ns, int stands_for);

struct Stretch {
    Span span;
    int launches;
    std::int64_t first_ns;          // the time of its first launch; less than 0: not measured
    std::int64_t pause_at_most_ns;  // the rest is certainly work
};

// How much of the stretch was a pause. Call it once for each stretch, even if there was certainly
// no pause.
std::int64_t take_pause_ns(LaunchedWork& known, const Stretch& stretch);

}  // namespace tessera::guard

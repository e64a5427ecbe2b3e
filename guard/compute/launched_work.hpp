// How much of a stretch of time was work, told from how many launches it had (pauses.hpp).
#pragma once

#include "guard/region/clock.hpp"

namespace tessera::guard {

// How much work a stream's launches are. Zero at first: nothing is known.
struct LaunchedWork {
    double sum_ns;    // of those measured, each as often as there are launches for which it stands,
    double launches;  // and of these; both are forgotten by and by
    std::int64_t surplus_ns;  // that it was more than what was charged; less than 0: less
};

// A launch was measured, and stands for so many: all that the lot might have met in its place,
// wherever the program waits between them. What came to be launched behind it would not do: where
// in a piece of work a launch is would decide what it counts.
void learn_launch(LaunchedWork& known, std::int64_t ns, int stands_for);

struct Stretch {
    Span span;
    int launches;
    std::int64_t first_ns;          // that the first of them took; less than 0: it was not measured
    std::int64_t pause_at_most_ns;  // the rest is work for certain
};

// How much of it was none. Each is to be taken once, and so is one without a pause for certain.
std::int64_t take_pause_ns(LaunchedWork& known, const Stretch& stretch);

}  // namespace tessera::guard

#include "guard/process/launched_work.hpp"

#include <algorithm>

namespace tessera::guard {
namespace {

// This part of what was measured is forgotten with each new measurement.
constexpr double kForget = 1.0 / 32;
// The error that the mean may have while it is made of the same launches: about 32 measured ones, 2
// ms apart. With a lower limit, a stream with few pauses would lose its positive errors but keep
// its negative ones. There must be a limit: the time before each measured launch (its way to an
// idle GPU) is not work either, so such a stream's surplus grows.
constexpr std::int64_t kMaxSurplusNs = 100'000'000;

}  // namespace

void learn_launch(LaunchedWork& known, std::int64_t ns, int stands_for) {
    known.sum_ns += static_cast<double>(ns) * stands_for - known.sum_ns * kForget;
    known.launches += stands_for - known.launches * kForget;
}

std::int64_t take_pause_ns(LaunchedWork& known, const Stretch& stretch) {
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

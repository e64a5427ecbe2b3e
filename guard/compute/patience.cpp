#include "guard/compute/patience.hpp"

#include <algorithm>

#include "guard/compute/gate.hpp"
#include "guard/compute/timing.hpp"
#include "guard/process/locked.hpp"

namespace tessera::guard {
namespace {

constexpr std::int64_t kShortestNs = 1'000'000'000;
constexpr std::int64_t kLongestNs = 10'000'000'000;

bool is_any_in_flight_since(std::int64_t ns) {
    for (const auto& of_card : timing().flights)
        for (const Timing::Flight& flight : of_card)
            if (flight.began_ns != 0 && flight.began_ns <= ns) return true;
    return false;
}

}  // namespace

Patience::Patience(int card)
    : since_ns_(monotonic_ns()),
      debt_time_ns_(debt_time_ns(card)),
      limit_ns_(std::clamp(debt_time_ns_, kShortestNs, kLongestNs)) {}

bool Patience::is_over() const {
    const std::int64_t now = monotonic_ns();
    if (now < end_ns()) return false;
    // What is in flight in the container's other processes is not known here: but that not even
    // they can be in debt for so long.
    if ((now - since_ns_) / 2 > debt_time_ns_) return true;
    const Locked lock(timing().mutex);
    if (now - timing().impatient_ns < limit_ns_ || !is_any_in_flight_since(since_ns_)) return false;
    timing().impatient_ns = now;
    return true;
}

}  // namespace tessera::guard

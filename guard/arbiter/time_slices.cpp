#include "guard/arbiter/time_slices.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::guard {

double own_in_slices(double length_ns, double processes, TimeSlices slices) {
    const double length = std::max(length_ns, 0.0);
    const double all = std::max(processes, 1.0);
    if (slices.length_ns <= 0) return length / all;
    const auto slice = static_cast<double>(slices.length_ns + slices.switch_ns);
    const double round = slice * all;
    const double rounds = std::floor(length / round);
    // If the rest is longer than a slice, the neighbours' slices were longer than assumed.
    return rounds * slice + std::min(length - rounds * round, slice);
}

double more_than_divided(double length_ns, double processes, TimeSlices slices) {
    const double all = std::max(processes, 1.0);
    const double more = own_in_slices(length_ns, all, slices) - std::max(length_ns, 0.0) / all;
    return std::max(more, 0.0);
}

double lost_at_switches(double processes, TimeSlices slices) {
    const double neighbours = std::clamp(processes - 1, 0.0, 1.0);
    return 2 * neighbours * static_cast<double>(slices.switch_ns);
}

}  // namespace tessera::guard

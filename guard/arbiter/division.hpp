// Divides the time in which processes had work in flight on a GPU among them.
//
// At any instant, each process in flight gets one divided by the number of processes in flight. For
// some of the time it is known which processes were in flight, and for the rest it is not. There,
// each process counts as in flight with some probability, independently of the others. So a
// process's own part of an instant is the mean of 1 / (1 + number of others).
//
// That is the integral from 0 to 1 of the mean of t^others. That mean is a product, with the factor
// t for each process that is in flight, and 1 - p + p t for each that is in flight with probability
// p. The product changes by one factor where a work interval begins or ends, so one sweep over
// these points is enough. The integral of a polynomial is exactly a sum over half as many nodes as
// its degree (Gauss and Legendre); with doubles, fewer nodes are enough. With more than
// kExactlyAtOnce in flight there is an error, of one in a million for 500 and one in a thousand for
// 1,000.
#pragma once

#include <cstdint>
#include <vector>

#include "guard/region/clock.hpp"

namespace tessera::guard {

inline constexpr int kExactlyAtOnce = 128;

// What one process, or several together, had in flight within a tick.
struct BusyInterval {
    std::vector<Span> spans;  // one is in flight in these; within the tick, ascending, disjoint
    // The mean number in flight outside of the spans; at most 1 for one process. For several
    // processes, its whole part is always in flight. If it is above 1, there are no spans.
    double by_chance = 0;
};

inline double length_of(Span span) {
    return static_cast<double>(span.end_ns - span.start_ns);
}

// Each entry's own part of what it had in flight, as a mean; 1 if it had nothing.
std::vector<double> own_parts(const std::vector<BusyInterval>& busy_intervals, Span tick);

}  // namespace tessera::guard

// Attributes a GPU's time to the processes that had work in flight on it (queued or running).
//
// At any instant, each process in flight gets one divided by the number of processes in flight. For
// some of the time it is known which processes were in flight. For the rest, each process counts as
// in flight with some probability, independently of the others. So a process's own part of an
// instant is the mean of 1 / (1 + N), where N is the number of other processes in flight.
//
// That is the integral of the mean of t^N, for t from 0 to 1. The mean of t^N is a product with one
// factor per other process: t if it is in flight, and 1 - p + p t if it is in flight with
// probability p. The product changes by one factor where a work interval begins or ends, so one
// sweep over these instants is enough. The integral of a polynomial is exactly a weighted sum over
// half as many values of t as its degree (Gauss and Legendre); with doubles, fewer values are
// enough. With more than kExactlyAtOnce processes in flight there is an error, of one in a million
// for 500 and one in a thousand for 1,000.
#pragma once

#include <cstdint>
#include <vector>

#include "guard/region/clock.hpp"

namespace tessera::guard {

inline constexpr int kExactlyAtOnce = 128;

// When one process had work in flight within a tick, or how many of several processes had.
struct BusyTime {
    std::vector<Span> spans;  // it is in flight in these; within the tick, ascending, disjoint
    // The mean number of processes in flight outside of the spans; at most 1 for one process. 2.5
    // means that two are always in flight, and a third with probability 0.5. If it is above 1,
    // there are no spans.
    double by_chance = 0;
};

// In nanoseconds.
inline double length_of(Span span) {
    return static_cast<double>(span.end_ns - span.start_ns);
}

// For each entry: which part of its time in flight counts as its own, from 0 to 1; 1 if it had
// nothing in flight.
std::vector<double> own_parts(const std::vector<BusyTime>& busy_times, Span tick);

}  // namespace tessera::guard

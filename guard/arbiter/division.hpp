// Divides the time that processes had work in flight on a card among them.
//
// At an instant each of those in flight has one part in as many as there are. Who was in flight is
// known of some time and not of other; in that, each is taken as in flight with some probability,
// independently. So a process's own part of an instant is the mean of 1 / (1 + how many others).
//
// That is the integral from 0 to 1 of the mean of t^others, and that mean is a product: t for each
// who is in flight, 1 - p + p t for each who is with probability p. The product changes by one
// factor where a piece of work begins or ends, so all of it is one sweep over those ends; and the
// integral of a polynomial is a sum over half as many nodes as its degree (Gauss and Legendre),
// exactly; in a double also over fewer. With more than kExactlyAtOnce in flight it is off, by one
// in a million for 500 and one in a thousand for 1,000.
#pragma once

#include <cstdint>
#include <vector>

#include "guard/region/clock.hpp"

namespace tessera::guard {

inline constexpr int kExactlyAtOnce = 128;

// What a process, or several together, had in flight within a tick.
struct Flight {
    std::vector<Span> spans;  // in which one of it is; within the tick, ascending, apart
    // How many of it are in flight outside of the spans, in the mean: for one process, at most 1.
    // Of more than one the whole ones always are. Without spans where it is above 1.
    double by_chance = 0;
};

inline double length_of(Span span) {
    return static_cast<double>(span.end_ns - span.start_ns);
}

// The part of what each had in flight that was its own, in the mean; 1 where it had nothing.
std::vector<double> own_parts(const std::vector<Flight>& flights, Span tick);

}  // namespace tessera::guard

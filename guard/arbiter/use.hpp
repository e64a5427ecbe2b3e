// How much of a card's time each of its containers used in a tick, from what its processes say that
// they had in flight.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "guard/arbiter/container_reading.hpp"

namespace tessera::guard {

// Of a container's processes, of a kind of work, so many at most count each for itself in a tick:
// those that had most in flight. The others together count as one of which several are in flight at
// once, as many as in the mean: what they had in all is exact, how it met others' work is not.
inline constexpr std::size_t kMaxFlights = 64;
// And of all containers of the card, so that no tick costs more than so much: where there are more,
// fewer of those containers that have most.
inline constexpr std::size_t kMaxFlightsOfCard = 256;

// Of a container, and of one kind of work.
struct Use {
    double in_flight_ns = 0;  // its processes' together; what is given back is less than 0
    double own_ns = 0;        // of that its own
    double busy_ns = 0;       // any of its processes had work, by the clock
    // Its own of each that it had in flight; nothing where it had next to nothing, or only gave
    // back.
    std::optional<Millionths> part{};
};

struct Report {
    const KnownTimes* known;  // before the reading
    const ContainerReading* reading;
    Millionths part;  // Use::part of the ticks before: of what is given back
};

// By report.
std::vector<Use> uses(std::span<const Report> reports, WorkKind kind, Span tick);

}  // namespace tessera::guard

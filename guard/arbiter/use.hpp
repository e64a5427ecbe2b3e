// How much of a GPU's time each of its containers used in a tick, from what its processes report as
// in flight.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "guard/arbiter/container_reading.hpp"
#include "guard/arbiter/time_slices.hpp"

namespace tessera::guard {

// For each kind of work, at most this many of a container's processes are counted individually in a
// tick: those that had most in flight. The others are counted as one entry with several in flight
// at the same time, by their mean number. Their total is exact; how they overlap with others' work
// is not.
inline constexpr std::size_t kMaxBusyTimes = 64;
// The same bound over all containers of the GPU, so that the cost of a tick is limited. If there
// are more, fewer processes are counted individually, from the containers that have most.
inline constexpr std::size_t kMaxBusyTimesOfGpu = 256;

// Of one container, for one kind of work.
struct Use {
    double in_flight_ns = 0;  // of all its processes together; less than 0 if time is given back
    double own_ns = 0;        // its own part of that
    double busy_ns = 0;       // time in which any of its processes had work, by the clock
    // own_ns divided by in_flight_ns. Empty if the container had next to nothing, or only gave time
    // back.
    std::optional<Millionths> part{};
};

struct Report {
    const KnownTimes* known;  // before the reading
    const ContainerReading* reading;
    Millionths part;  // Use::part of earlier ticks, for time that is given back
};

// One result per report, in the same order. `slices` are the GPU's.
std::vector<Use> uses(std::span<const Report> reports, WorkKind kind, Span tick, TimeSlices slices);

}  // namespace tessera::guard

// How a GPU without MPS divides itself: processes that have work get time slices in turn. Seen on
// an H100 and an H200 with driver 580: slices of 2.0 ms, and 0.27 ms lost at each switch.
//
// So a process that joins busy neighbours has its first slice alone, and then waits for a slice of
// each of them. Its events are reached in its own slices only. So a measured work interval begins
// with a slice of its process and ends in one. A short interval is the process's own altogether,
// although its neighbours had work in flight all the time: dividing by the number of processes
// would charge it a half beside one neighbour, and charge the neighbour for the rest.
#pragma once

#include <cstdint>

namespace tessera::guard {

// NVIDIA's default; `nvidia-smi compute-policy --list` shows whether it was changed. An error of it
// is an error of the charge of one slice per work interval, at most.
struct TimeSlices {
    std::int64_t length_ns = 2'000'000;
    std::int64_t switch_ns = 270'000;  // from one process to another
};
// Infinitely short slices: the GPU's time is divided evenly at each instant.
inline constexpr TimeSlices kNoTimeSlices = {0, 0};

// Of a work interval of that length: the time in which its own process had the GPU, if `processes`
// had work in flight on average (itself included, at least 1). Switches to the process within the
// interval are its own time.
double own_in_slices(double length_ns, double processes, TimeSlices slices);

// What that is more than the interval's length divided by the number of processes. At least 0, and
// less than a slice with its switch.
double more_than_divided(double length_ns, double processes, TimeSlices slices);

// What the GPU lost by the switch to the process before the interval and the one from it after. No
// process could use it. Those that were in flight all the time were charged for it.
double lost_at_switches(double processes, TimeSlices slices);

}  // namespace tessera::guard

// One tick of a GPU's arbiter: reads what its containers did, and writes what each may do.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "guard/arbiter/arbiter.hpp"

namespace tessera::guard {

// A container with a share of the GPU.
struct Sharer {
    Arbiter::Id id;
    Limits* limits;
    int accounts_fd;
    int gpu;  // index in the limits
};

// `now` is monotonic (region/clock.hpp). Incomplete accounts count as a container that does
// nothing. They stop the container's own processes.
void tick(Arbiter& arbiter, const std::vector<Sharer>& sharers, std::int64_t now);

// How long until a GPU's next tick, after one that took `took`. More frequent ticks leave the GPU
// idle for less time after a container is done with it. But ticks must cost little of a core.
inline constexpr std::chrono::milliseconds kSoonestTick{5};
inline constexpr std::chrono::milliseconds kLatestTick{10};
std::chrono::milliseconds until_next_tick(std::chrono::nanoseconds took);

}  // namespace tessera::guard

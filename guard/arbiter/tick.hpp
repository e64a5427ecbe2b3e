// One tick of a card's arbiter: reads what its containers did, and writes what each may do.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "guard/arbiter/arbiter.hpp"

namespace tessera::guard {

// A container with a share of the card.
struct Sharer {
    Arbiter::Id id;
    Limits* limits;
    int accounts_fd;
    int card;  // in the limits
};

// At `now` (region/clock.hpp). Accounts that are not whole are taken as doing nothing: the
// container's own processes are stopped by it.
void tick(Arbiter& arbiter, const std::vector<Sharer>& sharers, std::int64_t now);

// When a card's next tick is due, after one took so long: the sooner, the less of the card stands
// idle when somebody has done with it; but they are to cost little of a core.
inline constexpr std::chrono::milliseconds kSoonestTick{5};
inline constexpr std::chrono::milliseconds kLatestTick{10};
std::chrono::milliseconds until_next_tick(std::chrono::nanoseconds took);

}  // namespace tessera::guard

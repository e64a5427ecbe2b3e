// Numbers by lot, so that nothing that a program does in a rhythm comes in step with what is
// measured of it. Wants the mutex of the card's timing().
#pragma once

#include "guard/compute/timing.hpp"

namespace tessera::guard {

// 0 to `end` - 1. Source of the numbers: Numerical Recipes, "An Even Quicker Generator".
inline std::uint32_t draw(int card, std::uint32_t end) {
    std::uint32_t& random = timing(card).random;
    random = random * 1664525 + 1013904223;
    return static_cast<std::uint32_t>(std::uint64_t{random} * end >> 32U);
}

}  // namespace tessera::guard

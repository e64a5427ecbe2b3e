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

// For how many the one that is about to come stands, if it is measured as one of those of its like;
// 0: it is not.
inline int draw_sample(int card) {
    constexpr int kSampleEvery = 16;
    return draw(card, kSampleEvery) == 0 ? kSampleEvery : 0;
}

}  // namespace tessera::guard

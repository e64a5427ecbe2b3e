// Random numbers for sampling, so that a program's rhythm cannot fall into step with the
// measurements. Requires the mutex of the GPU's timing().
#pragma once

#include "guard/process/timing.hpp"

namespace tessera::guard {

// From 0 to `end` - 1. Source of the formula: Numerical Recipes, "An Even Quicker Generator".
inline std::uint32_t draw(int gpu, std::uint32_t end) {
    std::uint32_t& random = timing(gpu).random;
    random = random * 1664525 + 1013904223;
    return static_cast<std::uint32_t>(std::uint64_t{random} * end >> 32U);
}

// If the next item is measured, the number of items that it represents; 0: it is not measured.
inline int draw_sample(int gpu) {
    constexpr int kSampleEvery = 16;
    return draw(gpu, kSampleEvery) == 0 ? kSampleEvery : 0;
}

}  // namespace tessera::guard

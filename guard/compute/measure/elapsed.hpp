// The time between two events, as the GPU measured it: cuEventElapsedTime, which returns
// milliseconds as a float with a resolution of about 0.5 us. The driver has begun.
#pragma once

#include <cstdint>
#include <optional>

#include "guard/inject/driver.hpp"

namespace tessera::guard {

// Nanoseconds. Nothing if an event was not recorded or is not complete, or if they belong to
// different contexts. Negative if `end` was complete before `start`, such as a pacing event that
// was recorded after it.
inline std::optional<std::int64_t> elapsed_ns(CUevent start, CUevent end) {
    float ms = 0;
    if (driver()->cuEventElapsedTime(&ms, start, end) != CUDA_SUCCESS) return std::nullopt;
    return static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
}

}  // namespace tessera::guard

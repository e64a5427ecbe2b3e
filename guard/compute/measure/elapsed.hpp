// The time between two events, as the GPU measured it.
#pragma once

#include <cstdint>
#include <optional>

#include "guard/inject/driver.hpp"

namespace tessera::guard {

// Empty if one of them has not happened, or belongs to another context. Less than 0 if a pacing
// event was recorded after the end that it is compared with.
inline std::optional<std::int64_t> elapsed_ns(CUevent start, CUevent end) {
    float ms = 0;
    if (driver()->cuEventElapsedTime(&ms, start, end) != CUDA_SUCCESS) return std::nullopt;
    return static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
}

}  // namespace tessera::guard

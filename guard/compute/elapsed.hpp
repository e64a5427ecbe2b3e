// The time between two events, as the card has it.
#pragma once

#include <cstdint>
#include <optional>

#include "guard/inject/driver.hpp"

namespace tessera::guard {

// Nothing is known where one has not happened, or is of another context. A mark that was set when
// the end was known may come after it: then it is less than 0.
inline std::optional<std::int64_t> elapsed_ns(CUevent start, CUevent end) {
    float ms = 0;
    if (driver()->cuEventElapsedTime(&ms, start, end) != CUDA_SUCCESS) return std::nullopt;
    return static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
}

}  // namespace tessera::guard

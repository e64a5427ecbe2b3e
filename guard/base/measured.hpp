// A neighbour may have taken the memory that the GPU has less after a call. If the difference is
// larger than this, the guard makes the call again and measures a second time.
#pragma once

#include <cstdint>

namespace tessera::guard {

inline constexpr std::uint64_t kLargeDifference = std::uint64_t{32} << 20;

}  // namespace tessera::guard

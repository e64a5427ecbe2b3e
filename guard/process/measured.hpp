// What the card has less after a call may be a neighbour's: a difference above this is looked at a
// second time, by making the call again.
#pragma once

#include <cstdint>

namespace tessera::guard {

inline constexpr std::uint64_t kLargeDifference = std::uint64_t{32} << 20;

}  // namespace tessera::guard

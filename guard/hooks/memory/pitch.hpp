// The size of rows that a driver may pad.
#pragma once

#include <cstdint>

namespace tessera::guard {

// Rows are padded to this many bytes, as drivers do for all GPUs since compute capability 2.0. If a
// driver pads further, the charge is corrected afterwards.
inline constexpr std::uint64_t kPitchAlignment = 512;

// The largest number if the product overflows.
inline std::uint64_t product(std::uint64_t one, std::uint64_t other) {
    std::uint64_t bytes = 0;
    return __builtin_mul_overflow(one, other, &bytes) ? ~std::uint64_t{0} : bytes;
}

inline std::uint64_t rounded_up(std::uint64_t length, std::uint64_t unit) {
    return length > ~unit ? ~std::uint64_t{0} : (length + unit - 1) / unit * unit;
}

inline std::uint64_t pitched(std::uint64_t width_bytes, std::uint64_t height) {
    return product(rounded_up(width_bytes, kPitchAlignment), height);
}

}  // namespace tessera::guard

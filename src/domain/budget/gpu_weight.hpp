// How much an hour of one GPU costs compared with others: a weight of 2 charges an hour as two
// GPU-hours.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// Exact: in millionths.
struct GpuWeight {
    std::int64_t millionths = 1'000'000;

    friend auto operator<=>(const GpuWeight&, const GpuWeight&) = default;
};

inline constexpr std::int64_t kMillionths = 1'000'000;
inline constexpr GpuWeight kLeastWeight{1};
inline constexpr GpuWeight kMostWeight{1'000 * kMillionths};

// "2", "0.5", "1.25": digits, and after a point at most six more. At least kLeastWeight, at most
// kMostWeight. Any other text is an invalid_argument error that quotes it and says what to write.
Result<GpuWeight> parse_gpu_weight(std::string_view text);

// "2", "0.5": exact, without zeros at the end.
std::string to_string(GpuWeight weight);

}  // namespace tessera

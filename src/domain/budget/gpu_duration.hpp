// An amount of GPU time, which budgets, charges and reports count in: one whole GPU of weight 1 for
// one second is 1 s. (domain/usage/share_use.hpp has GpuTime, the time that a GPU worked.)
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "base/result.hpp"

namespace tessera {

__extension__ using WideInt = __int128;

// In GPU-seconds of 10^9 parts. 64 bits would be 292 GPU-years, which a cluster of 8,000 GPUs uses
// in two weeks. 128 bits do not overflow by any sum of valid charges; an overflow aborts. Negative
// where it says what remains of a budget.
struct GpuDuration {
    WideInt nanos = 0;

    friend auto operator<=>(const GpuDuration&, const GpuDuration&) = default;
    friend GpuDuration operator+(GpuDuration a, GpuDuration b) {
        GpuDuration sum;
        const bool overflows = __builtin_add_overflow(a.nanos, b.nanos, &sum.nanos);
        TESSERA_CHECK(!overflows, "a sum of GPU time fits into 128 bits");
        return sum;
    }
    friend GpuDuration operator-(GpuDuration a, GpuDuration b) {
        GpuDuration difference;
        const bool overflows = __builtin_sub_overflow(a.nanos, b.nanos, &difference.nanos);
        TESSERA_CHECK(!overflows, "a difference of GPU time fits into 128 bits");
        return difference;
    }
    GpuDuration& operator+=(GpuDuration other) { return *this = *this + other; }
    GpuDuration& operator-=(GpuDuration other) { return *this = *this - other; }
};

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

constexpr GpuDuration gpu_seconds(std::int64_t n) {
    return {static_cast<WideInt>(n) * kNanosPerSecond};
}
constexpr GpuDuration gpu_hours(std::int64_t n) {
    return {static_cast<WideInt>(n) * kNanosPerSecond * 3600};
}

// Towards zero.
constexpr GpuDuration whole_seconds(GpuDuration duration) {
    return {duration.nanos / kNanosPerSecond * kNanosPerSecond};
}

// The most that text may say.
inline constexpr std::int64_t kMostGpuHours = 1'000'000'000;

// "150m", "20h", "1h30m", "2d", "0.25s". Grammar: numbers, each followed by d (24 hours), h, m or
// s, in this order, and each unit at most once. Only seconds may have decimals, at most nine. Any
// other text, and more than kMostGpuHours, is an invalid_argument error that quotes the text and
// says what to write. Zero is valid.
Result<GpuDuration> parse_gpu_duration(std::string_view text);

// The greatest debt that text may say, 2^126 ns. Charges of all records until kEndOfTime are less.
inline constexpr GpuDuration kMostDebt{WideInt{1} << 126};

// What a budget has left over, as parse_gpu_duration(), or after a minus sign a debt: "-1h30m", of
// at most kMostDebt. So a sum of it and valid charges does not overflow.
Result<GpuDuration> parse_gpu_balance(std::string_view text);

// Exact: "1h30m", "48h", "0.25s", "0s", "-20m". Hours are the largest unit.
std::string to_string(GpuDuration duration);

// For people and reports: GPU-hours with three decimals, such as "1.000", rounded to the nearest
// thousandth, and away from zero from the middle.
std::string gpu_hours_text(GpuDuration duration);

}  // namespace tessera

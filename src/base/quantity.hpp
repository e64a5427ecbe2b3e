// Amounts with their unit in the type, and the only parser of Kubernetes quantities ("3Gi",
// "1500m"). Integers only: decimal text never passes through a double.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace tessera {

// A number of bytes. Never negative where it describes a size; differences may be.
struct Bytes {
    std::int64_t count = 0;

    friend auto operator<=>(const Bytes&, const Bytes&) = default;
    friend Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
    friend Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
    Bytes& operator+=(Bytes other) { return *this = *this + other; }
    Bytes& operator-=(Bytes other) { return *this = *this - other; }
};

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kGiB = std::int64_t{1} << 30;

constexpr Bytes mebibytes(std::int64_t n) {
    return {n * kMiB};
}
constexpr Bytes gibibytes(std::int64_t n) {
    return {n * kGiB};
}

// A share of one GPU's compute; 100 is the whole GPU.
struct Percent {
    int value = 0;

    friend auto operator<=>(const Percent&, const Percent&) = default;
    friend Percent operator+(Percent a, Percent b) { return {a.value + b.value}; }
    friend Percent operator-(Percent a, Percent b) { return {a.value - b.value}; }
};

// "2Gi", "2.5Gi", "500Mi" or plain bytes: the largest unit that needs at most two decimals.
std::string to_string(Bytes bytes);

// For people: whole MiB, such as "2.5Gi" or "5331Mi"; an amount below 1 MiB stays exact. Write what
// is free and what a GPU has rounded down, and what is requested or used rounded up. Then a request
// that is too large also reads as larger, and a free amount that a user copies into a pod fits.
std::string rounded_down(Bytes bytes);
std::string rounded_up(Bytes bytes);

// A Kubernetes quantity as a whole number. Grammar: number, then one of "", "m", "k", "M", "G",
// "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", or a decimal exponent ("e3"); source:
// k8s.io/apimachinery/pkg/api/resource. A number that is not whole, negative, empty or beyond int64
// is an invalid_argument error that quotes the text.
Result<std::int64_t> parse_whole_quantity(std::string_view text);

// The same in thousandths, rounded up as Kubernetes does: "0.5" is 500, "100m" is 100.
Result<std::int64_t> parse_milli_quantity(std::string_view text);

}  // namespace tessera

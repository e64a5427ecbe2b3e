#include "domain/budget/gpu_weight.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "domain/budget/field_text.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMostDecimals = 6;
constexpr std::size_t kMostDigits = 4;  // of kMostWeight

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

}  // namespace

Result<GpuWeight> parse_gpu_weight(std::string_view text) {
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    const bool has_point = point != std::string_view::npos;
    const std::string_view decimals = has_point ? text.substr(point + 1) : std::string_view{};
    if (text.starts_with('-')) return refuse_text(text, "is negative; write a number above 0");
    if (!is_digits(whole) || (has_point && !is_digits(decimals)))
        return refuse_text(text, "is not a decimal number; write such as 2 or 0.5");
    if (decimals.size() > kMostDecimals)
        return refuse_text(text, "has more than six decimals; round it");
    if (whole.size() > kMostDigits) return refuse_text(text, "is too large; write at most 1000");
    GpuWeight weight{0};
    for (const char c : whole)
        weight.millionths = weight.millionths * 10 + (c - '0');
    for (std::size_t i = 0; i < kMostDecimals; ++i)
        weight.millionths = weight.millionths * 10 + (i < decimals.size() ? decimals[i] - '0' : 0);
    if (weight < kLeastWeight) return refuse_text(text, "is zero; write a number above 0");
    if (weight > kMostWeight) return refuse_text(text, "is too large; write at most 1000");
    return weight;
}

std::string to_string(GpuWeight weight) {
    std::string out =
        fmt::format("{}.{:06}", weight.millionths / kMillionths, weight.millionths % kMillionths);
    out.erase(out.find_last_not_of('0') + 1);
    if (out.ends_with('.')) out.pop_back();
    return out;
}

}  // namespace tessera

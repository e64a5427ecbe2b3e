#include "domain/budget/gpu_duration.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/ascii.hpp"
#include "domain/budget/field_text.hpp"

namespace tessera {
namespace {

struct Unit {
    char letter;
    std::int64_t seconds;
};

constexpr auto kUnits = std::to_array<Unit>({{'d', 86'400}, {'h', 3600}, {'m', 60}, {'s', 1}});
// Any number of 38 digits fits into 128 bits.
constexpr std::size_t kMostDigits = 38;
constexpr int kMostDecimals = 9;

// The digits at the start of `text`, which are removed from it.
std::string_view take_digits(std::string_view& text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count]))
        ++count;
    const std::string_view digits = text.substr(0, count);
    text.remove_prefix(count);
    return digits;
}

// The caller has limited the number of digits.
WideInt value_of(std::string_view digits) {
    WideInt value = 0;
    for (const char c : digits)
        value = value * 10 + (c - '0');
    return value;
}

// The decimals after a point, in nanoseconds.
WideInt nanos_of(std::string_view decimals) {
    WideInt value = value_of(decimals);
    for (std::size_t i = decimals.size(); i < kMostDecimals; ++i)
        value *= 10;
    return value;
}

// Which row of kUnits, from `first` on.
std::optional<std::size_t> find_unit(char letter, std::size_t first) {
    for (std::size_t i = first; i < kUnits.size(); ++i)
        if (kUnits.at(i).letter == letter) return i;
    return std::nullopt;
}

// Of an amount that is not negative.
std::string magnitude_text(WideInt nanos) {
    const WideInt seconds = nanos / kNanosPerSecond;
    const auto fraction = static_cast<std::int64_t>(nanos % kNanosPerSecond);
    const WideInt hours = seconds / 3600;
    const auto minutes = static_cast<int>(seconds / 60 % 60);
    const auto rest = static_cast<int>(seconds % 60);
    std::string out;
    if (hours != 0) out += fmt::format("{}h", hours);
    if (minutes != 0) out += fmt::format("{}m", minutes);
    if (fraction != 0) {
        std::string decimals = fmt::format("{:09}", fraction);
        decimals.erase(decimals.find_last_not_of('0') + 1);
        out += fmt::format("{}.{}s", rest, decimals);
    } else if (rest != 0 || out.empty()) {
        out += fmt::format("{}s", rest);
    }
    return out;
}

// `most` in words is of whole hours.
Result<GpuDuration> parse_magnitude(std::string_view text, GpuDuration most) {
    constexpr std::string_view kForm = "is no duration; write such as 150m, 20h or 1h30m";
    const auto too_large = [&] {
        return refuse_text(
            text, fmt::format("is too large; write at most {}h", most.nanos / gpu_hours(1).nanos));
    };
    if (text.empty()) return refuse_text(text, kForm);
    GpuDuration sum;
    std::string_view rest = text;
    std::size_t next_unit = 0;
    while (!rest.empty()) {
        const std::string_view digits = take_digits(rest);
        if (digits.empty()) return refuse_text(text, kForm);
        std::string_view decimals;
        const bool has_point = rest.starts_with('.');
        if (has_point) {
            rest.remove_prefix(1);
            decimals = take_digits(rest);
            if (decimals.empty()) return refuse_text(text, kForm);
        }
        if (rest.empty())
            return refuse_text(text, "ends without a unit; write d, h, m or s at its end");
        const auto unit = find_unit(rest.front(), next_unit);
        if (!unit && find_unit(rest.front(), 0)) {
            return refuse_text(text,
                               "has its units in another order; write each of d, h, m, s once");
        }
        if (!unit) return refuse_text(text, "has an unknown unit; use d, h, m or s, such as 1h30m");
        if (has_point && kUnits.at(*unit).letter != 's')
            return refuse_text(text, "has decimals; write whole numbers, such as 1h30m");
        if (decimals.size() > kMostDecimals)
            return refuse_text(text, "has more than nine decimals; round it");
        if (digits.size() > kMostDigits) return too_large();
        const GpuDuration left = most - sum;
        const GpuDuration one = gpu_seconds(kUnits.at(*unit).seconds);
        const WideInt count = value_of(digits);
        if (count > left.nanos / one.nanos) return too_large();
        const GpuDuration amount{count * one.nanos + nanos_of(decimals)};
        if (amount > left) return too_large();
        sum += amount;
        rest.remove_prefix(1);
        next_unit = *unit + 1;
    }
    return sum;
}

}  // namespace

Result<GpuDuration> parse_gpu_duration(std::string_view text) {
    if (text.starts_with('-')) return refuse_text(text, "is negative; write a positive amount");
    return parse_magnitude(text, gpu_hours(kMostGpuHours));
}

Result<GpuDuration> parse_gpu_balance(std::string_view text) {
    if (!text.starts_with('-')) return parse_gpu_duration(text);
    TRY(const GpuDuration debt, parse_magnitude(text.substr(1), kMostDebt));
    return GpuDuration{} - debt;
}

std::string to_string(GpuDuration duration) {
    if (duration.nanos < 0) return "-" + magnitude_text(-duration.nanos);
    return magnitude_text(duration.nanos);
}

std::string gpu_hours_text(GpuDuration duration) {
    constexpr WideInt kThousandth = static_cast<WideInt>(kNanosPerSecond) * 3600 / 1000;
    const bool is_negative = duration.nanos < 0;
    const WideInt magnitude = is_negative ? -duration.nanos : duration.nanos;
    const WideInt thousandths = (magnitude + kThousandth / 2) / kThousandth;
    return fmt::format("{}{}.{:03}", is_negative && thousandths != 0 ? "-" : "", thousandths / 1000,
                       static_cast<int>(thousandths % 1000));
}

}  // namespace tessera

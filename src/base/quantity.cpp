#include "base/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

namespace tessera {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Wide kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());

struct Suffix {
    std::string_view text;
    std::int64_t multiplier;
    int decimal_exponent;
};

constexpr auto kSuffixes = std::to_array<Suffix>({
    {"", 1, 0},
    {"m", 1, -3},
    {"k", 1, 3},
    {"M", 1, 6},
    {"G", 1, 9},
    {"T", 1, 12},
    {"P", 1, 15},
    {"E", 1, 18},
    {"Ki", std::int64_t{1} << 10, 0},
    {"Mi", std::int64_t{1} << 20, 0},
    {"Gi", std::int64_t{1} << 30, 0},
    {"Ti", std::int64_t{1} << 40, 0},
    {"Pi", std::int64_t{1} << 50, 0},
    {"Ei", std::int64_t{1} << 60, 0},
});

std::optional<Suffix> read_suffix(std::string_view text) {
    for (const Suffix& suffix : kSuffixes) {
        if (suffix.text == text) return suffix;
    }
    if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
    const bool plus = text[1] == '+';
    text.remove_prefix(plus ? 2 : 1);
    if (plus && text.starts_with('-')) return std::nullopt;
    int exponent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    if (exponent < -30 || exponent > 30) return std::nullopt;
    return Suffix{"", 1, exponent};
}

// The digits of "12.50" as 1250 with two decimals. More than 18 digits are refused: no whole
// quantity within int64 needs them.
struct Decimal {
    Wide digits = 0;
    int decimals = 0;
    std::size_t length = 0;  // characters read
};

std::optional<Decimal> read_decimal(std::string_view text) {
    Decimal out;
    bool point = false;
    int count = 0;
    for (; out.length < text.size(); ++out.length) {
        const char c = text[out.length];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') break;
        out.digits = out.digits * 10 + static_cast<Wide>(c - '0');
        out.decimals += point ? 1 : 0;
        count += out.digits == 0 ? 0 : 1;
        if (count > 19 || out.decimals > 30) return std::nullopt;
    }
    const bool any_digit = out.length > (point ? 1U : 0U);
    return any_digit ? std::optional(out) : std::nullopt;
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("\"{}\" {}", text.substr(0, 64), why));
}

// In units of 10 to the power of -`finer`.
Result<std::int64_t> parse_quantity(std::string_view text, int finer, bool rounds) {
    std::string_view rest = text;
    if (!rest.empty() && rest[0] == '-')
        return refuse(text, "is negative; write a positive amount");
    if (!rest.empty() && rest[0] == '+') rest.remove_prefix(1);
    const auto number = read_decimal(rest);
    if (!number) return refuse(text, "is not a quantity; write a whole number such as 3 or 3Gi");
    const auto suffix = read_suffix(rest.substr(number->length));
    if (!suffix) {
        return refuse(text, "has an unknown unit; use none, k, M, G, T, Ki, Mi, Gi or Ti");
    }
    Wide value = number->digits;
    value *= static_cast<Wide>(suffix->multiplier);  // at most 2^64 * 2^60: fits
    int exponent = suffix->decimal_exponent - number->decimals + finer;
    for (; exponent > 0 && value != 0; --exponent) {
        if (value > kMax) return refuse(text, "is too large");
        value *= 10;
    }
    for (; exponent < 0 && value != 0; ++exponent) {
        const bool is_whole = value % 10 == 0;
        if (!is_whole && !rounds) return refuse(text, "is not a whole number; round it up");
        value = value / 10 + (is_whole ? 0 : 1);
    }
    if (value > kMax) return refuse(text, "is too large");
    return static_cast<std::int64_t>(value);
}

}  // namespace

Result<std::int64_t> parse_whole_quantity(std::string_view text) {
    return parse_quantity(text, 0, false);
}

Result<std::int64_t> parse_milli_quantity(std::string_view text) {
    return parse_quantity(text, 3, true);
}

std::string to_string(Bytes bytes) {
    struct Unit {
        std::int64_t size;
        std::string_view name;
    };
    constexpr auto kUnits = std::to_array<Unit>(
        {{std::int64_t{1} << 40, "Ti"}, {kGiB, "Gi"}, {kMiB, "Mi"}, {1024, "Ki"}});
    for (const Unit& unit : kUnits) {
        if (bytes.count < unit.size) continue;
        const std::int64_t whole = bytes.count / unit.size;
        const std::int64_t rest = bytes.count % unit.size;
        if (rest == 0) return fmt::format("{}{}", whole, unit.name);
        // Only quarters of a binary unit are exact in hundredths; any other amount is printed in
        // the next smaller unit.
        if (rest * 100 % unit.size != 0) continue;
        const std::int64_t hundredths = rest * 100 / unit.size;
        return hundredths % 10 == 0 ? fmt::format("{}.{}{}", whole, hundredths / 10, unit.name)
                                    : fmt::format("{}.{:02}{}", whole, hundredths, unit.name);
    }
    return std::to_string(bytes.count);
}

std::string rounded_down(Bytes bytes) {
    return to_string(bytes.count < kMiB ? bytes : Bytes{bytes.count / kMiB * kMiB});
}

std::string rounded_up(Bytes bytes) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - kMiB;
    if (bytes.count < kMiB || bytes.count > kMost) return to_string(bytes);
    return to_string(Bytes{(bytes.count + kMiB - 1) / kMiB * kMiB});
}

}  // namespace tessera

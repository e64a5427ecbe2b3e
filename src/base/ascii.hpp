// Letters, digits and white space of ASCII, whatever the locale is.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace tessera {

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool is_alnum(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Without white space at both ends, line ends included.
constexpr std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// A number of at most nine digits, up to `most`; leading zeros are allowed. Nothing for other text.
constexpr std::optional<int> parse_digits(std::string_view text, int most) {
    constexpr std::size_t kMostDigits = 9;
    if (text.empty() || text.size() > kMostDigits || !std::ranges::all_of(text, is_digit))
        return std::nullopt;
    int out = 0;
    for (const char digit : text)
        out = out * 10 + (digit - '0');
    return out <= most ? std::optional(out) : std::nullopt;
}

// Upper and lower case are the same.
constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, {}, to_lower, to_lower);
}

}  // namespace tessera

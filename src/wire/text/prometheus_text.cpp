#include "wire/text/prometheus_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/ascii.hpp"

namespace tessera {
namespace {

// Of the sum: a double counts thousandths of it exactly.
constexpr double kMost = 1e12;

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

std::string_view without_spaces(std::string_view text) {
    while (!text.empty() && is_space(text.front()))
        text.remove_prefix(1);
    return text;
}

// What follows the labels; nothing if they do not end. A label's value may contain "}".
std::optional<std::string_view> after_labels(std::string_view text) {
    if (!text.starts_with('{')) return text;
    bool is_quoted = false;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (is_quoted && text[i] == '\\') {
            ++i;
        } else if (text[i] == '"') {
            is_quoted = !is_quoted;
        } else if (text[i] == '}' && !is_quoted) {
            return text.substr(i + 1);
        }
    }
    return std::nullopt;
}

std::optional<double> value_of(std::string_view text) {
    text = without_spaces(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    const std::string_view number = text.substr(
        0, static_cast<std::size_t>(std::ranges::find_if(text, is_space) - text.begin()));
    double out = 0;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), out);
    const bool is_number = fault == std::errc() && end == number.data() + number.size();
    if (!is_number || !std::isfinite(out) || out < 0 || out > kMost) return std::nullopt;
    return out;
}

}  // namespace

Result<std::int64_t> sum_of_counter(std::string_view text, std::string_view name) {
    double sum = 0;
    bool is_found = false;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        line = without_spaces(line);
        if (!line.starts_with(name)) continue;
        const std::string_view rest = line.substr(name.size());
        if (rest.empty() || (!is_space(rest.front()) && rest.front() != '{')) continue;
        const auto after = after_labels(without_spaces(rest));
        const auto value = after ? value_of(*after) : std::nullopt;
        if (!value || sum + *value > kMost)
            return fail(Code::corrupt, fmt::format("{}: a value cannot be read", name));
        is_found = true;
        sum += *value;
    }
    if (!is_found) return fail(Code::not_found, fmt::format("there is no metric {}", name));
    return static_cast<std::int64_t>(std::llround(sum * 1'000));
}

}  // namespace tessera

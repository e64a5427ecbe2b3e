#include "wire/text/utc_time.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace tessera {
namespace {

constexpr std::string_view kForm = "0000-00-00T00:00:00Z";  // 0 stands for a digit

bool has_form(std::string_view text) {
    if (text.size() != kForm.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (kForm[i] == '0' ? !is_digit : text[i] != kForm[i]) return false;
    }
    return true;
}

int number(std::string_view digits) {
    int value = 0;
    for (const char digit : digits)
        value = value * 10 + (digit - '0');
    return value;
}

int days_of(int year, int month) {
    constexpr std::array kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (month == 2 && is_leap) return 29;
    return kDays.at(static_cast<std::size_t>(month) - 1);
}

// In the Gregorian calendar, for years from 1.
std::int64_t days_since_1970(int year, int month, int day) {
    const std::int64_t before = year - 1;
    std::int64_t days = before * 365 + before / 4 - before / 100 + before / 400;
    for (int m = 1; m < month; ++m)
        days += days_of(year, m);
    constexpr std::int64_t kDaysBefore1970 = 719'162;
    return days + day - 1 - kDaysBefore1970;
}

}  // namespace

bool is_utc_time(std::string_view text) {
    if (!has_form(text)) return false;
    const int year = number(text.substr(0, 4));
    const int month = number(text.substr(5, 2));
    const int day = number(text.substr(8, 2));
    if (month < 1 || month > 12 || day < 1 || day > days_of(year, month)) return false;
    return number(text.substr(11, 2)) < 24 && number(text.substr(14, 2)) < 60 &&
           number(text.substr(17, 2)) < 60;
}

std::optional<std::int64_t> rfc3339_seconds(std::string_view text) {
    constexpr std::size_t kSecond = kForm.size() - 1;
    if (text.size() <= kSecond) return std::nullopt;
    std::string utc(text.substr(0, kSecond));
    utc += 'Z';
    if (!is_utc_time(utc)) return std::nullopt;
    std::string_view rest = text.substr(kSecond);
    if (rest.starts_with('.')) {
        const std::size_t end = rest.find_first_not_of("0123456789", 1);
        if (end == 1 || end == std::string_view::npos) return std::nullopt;
        rest.remove_prefix(end);
    }
    std::int64_t zone_s = 0;
    if (rest != "Z" && rest != "z") {
        // "+00:00" is checked as the time of a day.
        const bool is_zone = rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') &&
                             is_utc_time("2000-01-01T" + std::string(rest.substr(1)) + ":00Z");
        if (!is_zone) return std::nullopt;
        const int zone = number(rest.substr(1, 2)) * 3'600 + number(rest.substr(4, 2)) * 60;
        zone_s = zone;
        if (rest[0] == '-') zone_s = -zone_s;
    }
    const std::int64_t days = days_since_1970(number(std::string_view(utc).substr(0, 4)),
                                              number(std::string_view(utc).substr(5, 2)),
                                              number(std::string_view(utc).substr(8, 2)));
    const int seconds = number(std::string_view(utc).substr(11, 2)) * 3'600 +
                        number(std::string_view(utc).substr(14, 2)) * 60 +
                        number(std::string_view(utc).substr(17, 2));
    return days * 86'400 + seconds - zone_s;
}

}  // namespace tessera

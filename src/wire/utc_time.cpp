#include "wire/utc_time.hpp"

#include <array>
#include <cstddef>

namespace tessera {
namespace {

constexpr std::string_view kForm = "0000-00-00T00:00:00Z";  // 0: a digit

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

}  // namespace tessera

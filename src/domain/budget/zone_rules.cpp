#include "domain/budget/zone_rules.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace tessera {
namespace {

std::int64_t floor_div(std::int64_t dividend, std::int64_t divisor) {
    return (dividend - (dividend % divisor < 0 ? divisor : 0)) / divisor;
}

// Of years that begin with March, 400 years are an era of as many days.
constexpr std::int64_t kDaysOfEra = 146'097;
constexpr std::int64_t kDaysUntil1970 = 719'468;

}  // namespace

std::int64_t days_of(CivilDate date) {
    const std::int64_t months = date.year * 12 + date.month - 1 - 2;  // since March of year 0
    const std::int64_t year = floor_div(months, 12);
    const std::int64_t month = months - year * 12;  // 0 is March
    const std::int64_t era = floor_div(year, 400);
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    const std::int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * kDaysOfEra + day_of_era - kDaysUntil1970;
}

CivilDate date_of_days(std::int64_t days) {
    const std::int64_t from_march = days + kDaysUntil1970;
    const std::int64_t era = floor_div(from_march, kDaysOfEra);
    const std::int64_t day_of_era = from_march - era * kDaysOfEra;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t month = (5 * day_of_year + 2) / 153;  // 0 is March
    CivilDate date;
    date.day = static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1);
    date.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
    date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
    return date;
}

std::int64_t ZoneRules::offset_at(std::int64_t unix_s) const {
    TESSERA_CHECK(!transitions.empty(), "a time zone has an offset");
    const auto next = std::ranges::upper_bound(transitions, unix_s, {}, &ZoneTransition::from_s);
    return next == transitions.begin() ? next->offset_s : std::prev(next)->offset_s;
}

std::int64_t ZoneRules::first_instant(std::int64_t local_s) const {
    TESSERA_CHECK(!transitions.empty(), "a time zone has an offset");
    for (std::size_t i = 0; i < transitions.size(); ++i) {
        std::int64_t unix_s = local_s - transitions[i].offset_s;
        if (i > 0) unix_s = std::max(unix_s, transitions[i].from_s);
        if (i + 1 == transitions.size() || unix_s < transitions[i + 1].from_s) return unix_s;
    }
    return local_s;
}

ZoneRules utc_rules() {
    return {.name = "UTC", .transitions = {{}}};
}

}  // namespace tessera

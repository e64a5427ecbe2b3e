#include "domain/budget/period.hpp"

#include <array>

#include "base/check.hpp"
#include "domain/budget/field_text.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kFirstMonday = 4;  // 1970-01-05

constexpr auto kKinds = std::to_array<NamedValue<PeriodKind>>({{PeriodKind::daily, "daily"},
                                                               {PeriodKind::weekly, "weekly"},
                                                               {PeriodKind::monthly, "monthly"},
                                                               {PeriodKind::sliding, "sliding"}});

std::int64_t floor_div(std::int64_t dividend, std::int64_t divisor) {
    return (dividend - (dividend % divisor < 0 ? divisor : 0)) / divisor;
}

// The number of the period that contains a date, since 1970.
std::int64_t number_of(PeriodKind kind, std::int64_t days) {
    if (kind == PeriodKind::daily) return days;
    if (kind == PeriodKind::weekly) return floor_div(days - kFirstMonday, 7);
    const CivilDate date = date_of_days(days);
    return date.year * 12 + date.month - 1;
}

std::int64_t first_day_of(PeriodKind kind, std::int64_t number) {
    if (kind == PeriodKind::daily) return number;
    if (kind == PeriodKind::weekly) return number * 7 + kFirstMonday;
    return days_of({.year = floor_div(number, 12),
                    .month = static_cast<int>(number - floor_div(number, 12) * 12) + 1,
                    .day = 1});
}

}  // namespace

std::string_view to_string(PeriodKind kind) {
    return name_of(kKinds, kind);
}

Result<PeriodKind> parse_period_kind(std::string_view text) {
    return value_named(kKinds, text, "daily, weekly, monthly or sliding");
}

Window period_at(const Period& period, const ZoneRules& zone, std::int64_t unix_s) {
    if (period.kind == PeriodKind::sliding) return {unix_s - period.sliding_s, unix_s};
    const auto start_of = [&](std::int64_t number) {
        return zone.first_instant(first_day_of(period.kind, number) * kSecondsPerDay);
    };
    std::int64_t number = number_of(period.kind, floor_div(zone.local_at(unix_s), kSecondsPerDay));
    // Clocks that are put back over midnight show the old date again, after the new period began.
    while (start_of(number + 1) <= unix_s)
        ++number;
    const Window window{start_of(number), start_of(number + 1)};
    TESSERA_CHECK(window.contains(unix_s), "a period contains its time");
    return window;
}

}  // namespace tessera

#include "domain/budget/period.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kDay = 24 * kHour;

std::int64_t utc(std::int64_t year, int month, int day, std::int64_t hour = 0,
                 std::int64_t minute = 0) {
    return days_of({year, month, day}) * kDay + hour * kHour + minute * 60;
}

// In 2026 clocks go forward on March 29 and back on October 25, at 01:00 UTC.
ZoneRules berlin() {
    return {.name = "Europe/Berlin",
            .transitions = {{utc(2025, 10, 26, 1), kHour},
                            {utc(2026, 3, 29, 1), 2 * kHour},
                            {utc(2026, 10, 25, 1), kHour}}};
}

// As in Chile and Lebanon, clocks go forward at midnight, over it.
ZoneRules midnight_skipped() {
    return {.name = "Test/Skipped", .transitions = {{0, 0}, {utc(2026, 4, 1), kHour}}};
}

// Clocks go back from 00:30 to 23:30, so they show midnight twice.
ZoneRules midnight_twice() {
    return {.name = "Test/Twice", .transitions = {{0, 0}, {utc(2026, 4, 1, 0, 30), -kHour}}};
}

// As Samoa at the end of 2011: a date is left out.
ZoneRules date_skipped() {
    return {.name = "Test/Date",
            .transitions = {{0, -10 * kHour}, {utc(2011, 12, 30, 10), 14 * kHour}}};
}

Window at(PeriodKind kind, const ZoneRules& zone, std::int64_t unix_s) {
    return period_at({.kind = kind, .time_zone = zone.name, .sliding_s = 3 * kHour}, zone, unix_s);
}

// Goal: days, weeks and months begin at the zone's midnight; the ends of months, leap days and the
// days on which clocks change are right. Method: a table.
TEST(Period, ContainsItsTime) {
    struct Case {
        PeriodKind kind;
        ZoneRules zone;
        std::int64_t unix_s;
        Window expected;
    };
    using enum PeriodKind;
    for (const Case& c : std::vector<Case>{
             {daily, utc_rules(), utc(2026, 3, 1), {utc(2026, 3, 1), utc(2026, 3, 2)}},
             {daily, utc_rules(), utc(2026, 3, 2) - 1, {utc(2026, 3, 1), utc(2026, 3, 2)}},
             {daily, utc_rules(), 0, {0, kDay}},
             {weekly, utc_rules(), utc(2026, 3, 1), {utc(2026, 2, 23), utc(2026, 3, 2)}},
             {weekly, utc_rules(), utc(2026, 3, 2), {utc(2026, 3, 2), utc(2026, 3, 9)}},
             {weekly, utc_rules(), 0, {-3 * kDay, 4 * kDay}},
             {monthly, utc_rules(), utc(2026, 2, 28, 23), {utc(2026, 2, 1), utc(2026, 3, 1)}},
             {monthly, utc_rules(), utc(2028, 2, 29), {utc(2028, 2, 1), utc(2028, 3, 1)}},
             {monthly, utc_rules(), utc(2026, 12, 31), {utc(2026, 12, 1), utc(2027, 1, 1)}},
             {monthly,
              berlin(),
              utc(2026, 1, 31, 22),
              {utc(2025, 12, 31, 23), utc(2026, 1, 31, 23)}},
             {monthly,
              berlin(),
              utc(2026, 3, 31, 12),
              {utc(2026, 2, 28, 23), utc(2026, 3, 31, 22)}},
             {monthly,
              berlin(),
              utc(2026, 3, 31, 22),
              {utc(2026, 3, 31, 22), utc(2026, 4, 30, 22)}},
             // 23 hours, then 25.
             {daily, berlin(), utc(2026, 3, 29, 12), {utc(2026, 3, 28, 23), utc(2026, 3, 29, 22)}},
             {daily,
              berlin(),
              utc(2026, 10, 25, 12),
              {utc(2026, 10, 24, 22), utc(2026, 10, 25, 23)}},
             {weekly, berlin(), utc(2026, 10, 25), {utc(2026, 10, 18, 22), utc(2026, 10, 25, 23)}},
             {daily, midnight_skipped(), utc(2026, 4, 1), {utc(2026, 4, 1), utc(2026, 4, 1, 23)}},
             {daily, midnight_skipped(), utc(2026, 4, 1) - 1, {utc(2026, 3, 31), utc(2026, 4, 1)}},
             // The new day began at the first midnight, although clocks show the old date again.
             {daily,
              midnight_twice(),
              utc(2026, 4, 1, 0, 45),
              {utc(2026, 4, 1), utc(2026, 4, 2, 1)}},
             {daily,
              date_skipped(),
              utc(2011, 12, 30, 9),
              {utc(2011, 12, 29, 10), utc(2011, 12, 30, 10)}},
             {daily,
              date_skipped(),
              utc(2011, 12, 30, 10),
              {utc(2011, 12, 30, 10), utc(2011, 12, 31, 10)}},
             {sliding, utc_rules(), utc(2026, 3, 1), {utc(2026, 2, 28, 21), utc(2026, 3, 1)}}}) {
        const Window window = at(c.kind, c.zone, c.unix_s);
        EXPECT_EQ(window.from_s, c.expected.from_s) << c.zone.name << " " << c.unix_s;
        EXPECT_EQ(window.to_s, c.expected.to_s) << c.zone.name << " " << c.unix_s;
    }
}

// Goal: each second is in exactly one period, whatever clocks do: a period contains its time, and
// each of its seconds gives the same period. Method: random times near random changes of clocks.
RC_GTEST_PROP(PeriodProperty, EachSecondIsInOnePeriod, ()) {
    ZoneRules zone{.name = "Test/Random", .transitions = {{0, 0}}};
    std::int64_t change_s = utc(2026, 1, 1);
    const int changes = *rc::gen::inRange(0, 6);
    for (int i = 0; i < changes; ++i) {
        change_s += *rc::gen::inRange<std::int64_t>(1, 40 * kDay);
        zone.transitions.push_back({change_s, *rc::gen::inRange<std::int64_t>(-56, 57) * 900});
    }
    const auto kind = *rc::gen::element(PeriodKind::daily, PeriodKind::weekly, PeriodKind::monthly);
    const auto unix_s = utc(2026, 1, 1) + *rc::gen::inRange<std::int64_t>(-50 * kDay, 250 * kDay);
    const Window window = at(kind, zone, unix_s);
    RC_ASSERT(window.contains(unix_s));
    RC_ASSERT(at(kind, zone, *rc::gen::inRange(window.from_s, window.to_s)) == window);
    RC_ASSERT(at(kind, zone, window.to_s).from_s == window.to_s);
    RC_ASSERT(at(kind, zone, window.from_s - 1).to_s == window.from_s);
}

// Goal: a name of a kind is read back, and any other text is refused with the names.
TEST(Period, ReadsItsKind) {
    using enum PeriodKind;
    for (const PeriodKind kind : {daily, weekly, monthly, sliding})
        EXPECT_EQ(parse_period_kind(to_string(kind)).value(), kind);
    for (const std::string_view text : {"", "Daily", "yearly", "day"}) {
        const auto kind = parse_period_kind(text);
        ASSERT_FALSE(kind) << text;
        EXPECT_NE(kind.error().text.find("write daily, weekly, monthly or sliding"),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace tessera

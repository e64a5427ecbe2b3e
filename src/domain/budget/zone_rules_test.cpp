#include "domain/budget/zone_rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace tessera {
namespace {

// Goal: dates and days agree with the calendar. Method: leap years, centuries, and days before
// 1970; months out of range.
TEST(CivilDate, AgreesWithTheCalendar) {
    struct Case {
        CivilDate date;
        std::int64_t days;
    };
    for (const Case& c : std::vector<Case>{{{1970, 1, 1}, 0},
                                           {{1970, 1, 5}, 4},
                                           {{1969, 12, 31}, -1},
                                           {{2000, 2, 29}, 11'016},
                                           {{2000, 3, 1}, 11'017},
                                           {{2026, 3, 1}, 20'513},
                                           {{2028, 2, 29}, 21'243},
                                           {{2100, 2, 28}, 47'540},
                                           {{2100, 3, 1}, 47'541},
                                           {{2500, 1, 1}, 193'579}}) {
        EXPECT_EQ(days_of(c.date), c.days);
        EXPECT_EQ(date_of_days(c.days), c.date) << c.days;
    }
    EXPECT_EQ(days_of({2025, 13, 1}), days_of({2026, 1, 1}));
    EXPECT_EQ(days_of({2026, 0, 31}), days_of({2025, 12, 31}));
}

// Goal: each day has one date, which follows the date of the day before.
RC_GTEST_PROP(CivilDateProperty, DaysFollowEachOther, ()) {
    const auto days = *rc::gen::inRange<std::int64_t>(-800'000, 800'000);
    const CivilDate date = date_of_days(days);
    const CivilDate next = date_of_days(days + 1);
    RC_ASSERT(days_of(date) == days);
    const bool is_next_day =
        next.year == date.year && next.month == date.month && next.day == date.day + 1;
    const bool is_next_month =
        next.day == 1 && date.day >= 28 && days_of({next.year, next.month, 1}) == days + 1;
    RC_ASSERT(is_next_day || is_next_month);
}

// At 1000 clocks go an hour forward, at 10000 they go 50 minutes back.
ZoneRules example() {
    return {.name = "Test/Zone",
            .transitions = {{-10'000, 0}, {1'000, 3'600}, {10'000, 600}, {20'000, 600}}};
}

// Goal: an offset counts from its transition on, and the first one also before it.
TEST(ZoneRules, OffsetsByTime) {
    const ZoneRules zone = example();
    EXPECT_EQ(zone.offset_at(-20'000), 0);
    EXPECT_EQ(zone.offset_at(999), 0);
    EXPECT_EQ(zone.offset_at(1'000), 3'600);
    EXPECT_EQ(zone.offset_at(9'999), 3'600);
    EXPECT_EQ(zone.offset_at(10'000), 600);
    EXPECT_EQ(zone.offset_at(1'000'000), 600);
    EXPECT_EQ(utc_rules().offset_at(12'345), 0);
}

// Goal: a local time that is skipped begins when clocks change; one that is shown twice begins with
// the first of both.
TEST(ZoneRules, FirstInstantsOfLocalTimes) {
    const ZoneRules zone = example();
    EXPECT_EQ(zone.first_instant(-20'000), -20'000);
    EXPECT_EQ(zone.first_instant(999), 999);
    EXPECT_EQ(zone.first_instant(1'000), 1'000);  // skipped
    EXPECT_EQ(zone.first_instant(4'599), 1'000);  // skipped
    EXPECT_EQ(zone.first_instant(4'601), 1'001);
    EXPECT_EQ(zone.first_instant(10'600), 7'000);  // twice: again at 10000
    EXPECT_EQ(zone.first_instant(13'599), 9'999);
    EXPECT_EQ(zone.first_instant(13'600), 13'000);
    EXPECT_EQ(zone.first_instant(20'600), 20'000);
}

}  // namespace
}  // namespace tessera

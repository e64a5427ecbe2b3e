#include "adapters/time_zones/tzdb_time_zones.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "domain/budget/period.hpp"
#include "domain/budget/usage_record.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kHour = 3600;

std::int64_t utc(std::int64_t year, int month, int day, std::int64_t hour = 0) {
    return days_of({year, month, day}) * 24 * kHour + hour * kHour;
}

// Goal: a zone has the offsets that its law says, in summer and winter, and its changes are ordered
// and cover all times. Method: zones with other changes, with none, and with minutes.
TEST(TzdbTimeZones, HasTheOffsetsOfTheZone) {
    struct Case {
        std::string name;
        std::int64_t winter, summer;  // on 2025-01-15 and 2025-07-15, minutes
    };
    for (const Case& c : std::vector<Case>{{"UTC", 0, 0},
                                           {"Etc/UTC", 0, 0},
                                           {"Europe/Berlin", 60, 120},
                                           {"America/New_York", -300, -240},
                                           {"America/Santiago", -180, -240},
                                           {"Asia/Kolkata", 330, 330},
                                           {"Asia/Kathmandu", 345, 345},
                                           {"Australia/Lord_Howe", 660, 630},
                                           {"US/Pacific", -480, -420}}) {
        const auto zone = TzdbTimeZones().find(c.name);
        ASSERT_TRUE(zone) << zone.error().text;
        EXPECT_EQ(zone->name, c.name);
        EXPECT_EQ(zone->offset_at(utc(2025, 1, 15)), c.winter * 60) << c.name;
        EXPECT_EQ(zone->offset_at(utc(2025, 7, 15)), c.summer * 60) << c.name;
        ASSERT_FALSE(zone->transitions.empty());
        EXPECT_LE(zone->transitions.front().from_s, 0);
        EXPECT_TRUE(std::ranges::is_sorted(zone->transitions, {}, &ZoneTransition::from_s));
        EXPECT_LT(zone->transitions.back().from_s, kEndOfTime);
    }
}

// Goal: the days on which clocks change in Berlin have 23 and 25 hours; in Santiago and Beirut they
// change at midnight.
TEST(TzdbTimeZones, GivesPeriodsWithChanges) {
    const auto day_at = [](const char* name, std::int64_t unix_s) {
        return period_at({.kind = PeriodKind::daily, .time_zone = name},
                         TzdbTimeZones().find(name).value(), unix_s);
    };
    EXPECT_EQ(day_at("Europe/Berlin", utc(2025, 3, 30, 12)),
              (Window{utc(2025, 3, 29, 23), utc(2025, 3, 30, 22)}));
    EXPECT_EQ(day_at("Europe/Berlin", utc(2025, 10, 26, 12)),
              (Window{utc(2025, 10, 25, 22), utc(2025, 10, 26, 23)}));
    EXPECT_EQ(day_at("America/Santiago", utc(2025, 9, 7, 12)).seconds(), 23 * kHour);
    EXPECT_EQ(day_at("America/Santiago", utc(2025, 4, 5, 12)).seconds(), 25 * kHour);
    EXPECT_EQ(day_at("Asia/Beirut", utc(2025, 3, 30, 12)).seconds(), 23 * kHour);
    EXPECT_EQ(day_at("Pacific/Apia", utc(2011, 12, 30, 10)).from_s, utc(2011, 12, 30, 10));
}

// Goal: no other text is a zone, and no text reads another file. The message says what to write.
TEST(TzdbTimeZones, RefusesUnknownNames) {
    for (const std::string& name :
         {std::string(), std::string("Europe/Berlim"), std::string("europe/berlin"),
          std::string("../../../etc/passwd"), std::string("/etc/localtime"),
          std::string("localtime"), std::string("Europe"), std::string("tzdata.zi"),
          std::string("+01:00"), std::string("UTC\0x", 5), std::string(100'000, 'x')}) {
        const auto zone = TzdbTimeZones().find(name);
        ASSERT_FALSE(zone) << name;
        EXPECT_EQ(zone.error().code, Code::invalid_argument) << name;
        EXPECT_NE(zone.error().text.find("write such as Europe/Berlin"), std::string::npos);
        EXPECT_LT(zone.error().text.size(), 200U);
    }
}

}  // namespace
}  // namespace tessera

#include "wire/text/utc_time.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tessera {
namespace {

TEST(UtcTime, KnowsATime) {
    for (const char* time : {"2026-01-31T11:00:00Z", "2024-02-29T23:59:59Z", "2000-02-29T00:00:00Z",
                             "0001-01-01T00:00:00Z"})
        EXPECT_TRUE(is_utc_time(time)) << time;
    for (const char* text :
         {"", "now", "2026-01-31", "2026-01-31 11:00:00Z", "2026-01-31T11:00:00",
          "2026-1-31T11:00:00Z", "2026-01-31T11:00:00+01:00", "2026-01-31T11:00:00.5Z",
          "2026-13-01T11:00:00Z", "2026-00-01T11:00:00Z", "2026-04-31T11:00:00Z",
          "2026-02-29T11:00:00Z", "2100-02-29T11:00:00Z", "2026-01-00T11:00:00Z",
          "2026-01-31T24:00:00Z", "2026-01-31T11:60:00Z", "2026-01-31T11:00:60Z",
          "2O26-01-31T11:00:00Z"})
        EXPECT_FALSE(is_utc_time(text)) << text;
}

TEST(Rfc3339, Seconds) {
    for (const auto& [text, seconds] : std::vector<std::pair<const char*, std::int64_t>>{
             {"1970-01-01T00:00:00Z", 0},
             {"1969-12-31T23:59:59Z", -1},
             {"2000-02-29T12:00:00Z", 951'825'600},
             {"2026-11-26T15:14:03Z", 1'795'706'043},
             {"2026-11-26T15:14:03.999z", 1'795'706'043},
             {"2026-11-26T16:44:03+01:30", 1'795'706'043},
             {"2026-11-26T07:14:03.5-08:00", 1'795'706'043}})
        EXPECT_EQ(rfc3339_seconds(text), seconds) << text;
    for (const char* text :
         {"", "Z", "2026-11-26T15:14:03", "2026-11-26T15:14:03.Z", "2026-11-26T15:14:03.5",
          "2026-11-26T15:14:03+1:00", "2026-11-26T15:14:03+24:00", "2026-11-26T15:14:03ZZ",
          "2026-02-29T15:14:03Z"})
        EXPECT_FALSE(rfc3339_seconds(text)) << text;
}

}  // namespace
}  // namespace tessera

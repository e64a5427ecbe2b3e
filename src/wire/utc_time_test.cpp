#include "wire/utc_time.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tessera

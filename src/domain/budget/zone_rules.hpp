// A time zone as a value: which offset from UTC its clocks have at which time. An adapter reads it
// from the time zone database; src/domain reads no files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// The date in the proleptic Gregorian calendar.
struct CivilDate {
    std::int64_t year = 1970;
    int month = 1;  // 1 to 12
    int day = 1;    // 1 to 31

    friend bool operator==(const CivilDate&, const CivilDate&) = default;
};

// Days since 1970-01-01. Months out of range are those of other years: month 13 is next January.
// Source: howardhinnant.github.io/date_algorithms.html.
std::int64_t days_of(CivilDate date);
CivilDate date_of_days(std::int64_t days);

// Clocks show UTC plus offset_s from from_s on, in unix seconds.
struct ZoneTransition {
    std::int64_t from_s = 0;
    std::int64_t offset_s = 0;

    friend bool operator==(const ZoneTransition&, const ZoneTransition&) = default;
};

// "Local seconds" are what the clock of the zone shows, as if it were UTC.
struct ZoneRules {
    std::string name;  // of the IANA database: "Europe/Berlin"
    // At least one, in order of time. The offset of the first one also counts before it.
    std::vector<ZoneTransition> transitions;

    [[nodiscard]] std::int64_t offset_at(std::int64_t unix_s) const;
    [[nodiscard]] std::int64_t local_at(std::int64_t unix_s) const {
        return unix_s + offset_at(unix_s);
    }
    // The first instant at which the clock shows `local_s` or later. If clocks are put forward over
    // it, this is the instant of the change; if they are put back over it, the first of the two.
    [[nodiscard]] std::int64_t first_instant(std::int64_t local_s) const;

    friend bool operator==(const ZoneRules&, const ZoneRules&) = default;
};

ZoneRules utc_rules();

}  // namespace tessera

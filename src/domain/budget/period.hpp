// The periods of a budget: what is used in one period counts against its GPU time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/budget/usage_record.hpp"
#include "domain/budget/zone_rules.hpp"

namespace tessera {

enum class PeriodKind {
    daily,    // from midnight
    weekly,   // from Monday, midnight
    monthly,  // from the first day of a month, midnight
    sliding,  // always the last Period::sliding_s seconds
};

std::string_view to_string(PeriodKind kind);

// "daily", "weekly", "monthly" or "sliding"; any other text is an invalid_argument error.
Result<PeriodKind> parse_period_kind(std::string_view text);

struct Period {
    PeriodKind kind = PeriodKind::monthly;
    std::string time_zone = "UTC";  // of the IANA database; not for sliding
    std::int64_t sliding_s = 0;     // of sliding alone

    friend bool operator==(const Period&, const Period&) = default;
};

// The period that contains `unix_s`, in [0, kEndOfTime). Midnight is the first instant at which the
// zone's clock shows the new date, so a day may have 23 or 25 hours. Periods follow each other
// without a gap, and the end is when the budget is refilled. For sliding: the window that ends at
// `unix_s`, which refills all the time.
Window period_at(const Period& period, const ZoneRules& zone, std::int64_t unix_s);

}  // namespace tessera

// Times as the API server writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// Whether the text is a day and a second in UTC, "2026-01-31T11:00:00Z" (RFC 3339 without fractions
// of a second, the format of metav1.Time). Such times sort as text. Leap seconds are not accepted.
bool is_utc_time(std::string_view text);

// Seconds since 1970 of a time of RFC 3339, with any zone; fractions of a second are cut off.
// Nothing if the text is no such time.
std::optional<std::int64_t> rfc3339_seconds(std::string_view text);

}  // namespace tessera

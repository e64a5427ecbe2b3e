// Times as the API server writes them.
#pragma once

#include <string_view>

namespace tessera {

// Whether the text is a day and a second in UTC, "2026-01-31T11:00:00Z" (RFC 3339 without parts of
// a second, as metav1.Time is written). Such times sort as text. Leap seconds are none.
bool is_utc_time(std::string_view text);

}  // namespace tessera

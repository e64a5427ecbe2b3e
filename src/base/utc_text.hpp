// Times as people and the API server read them.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace tessera {

// "2026-01-31T11:00:00Z" (RFC 3339, the format of metav1.Time), of seconds since 1970.
inline std::string utc_text(std::int64_t unix_s) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(unix_s)));
}

}  // namespace tessera

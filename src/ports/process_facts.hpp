// Facts about this process, for its metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/quantity.hpp"

namespace tessera {

struct ProcessFacts {
    std::string program;
    Bytes resident;
    std::chrono::nanoseconds cpu{};  // user and system time of all threads
    std::int64_t started_s = 0;      // since 1970
    int open_files = 0;
    // When the certificate of its server expires, in seconds since 1970; nothing if it has none.
    std::optional<std::int64_t> certificate_ends_s;
};

// Any thread may call.
using ReadProcess = std::function<ProcessFacts()>;

}  // namespace tessera

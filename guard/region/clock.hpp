// The clock that containers and the agent use between them.
#pragma once

#include <time.h>

#include <cstdint>

namespace tessera::guard {

// CLOCK_MONOTONIC; `end_ns` is not part of the span.
struct Span {
    std::int64_t start_ns;
    std::int64_t end_ns;
};
std::int64_t monotonic_ns();
// Sets the function that reads the clock: libc's by default.
using ReadClock = int (*)(clockid_t, timespec*);
void read_clock_by(ReadClock function);

}  // namespace tessera::guard

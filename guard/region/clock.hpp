// The time, as containers and the agent tell it to each other.
#pragma once

#include <time.h>

#include <cstdint>

namespace tessera::guard {

// CLOCK_MONOTONIC, without the end.
struct Span {
    std::int64_t start_ns;
    std::int64_t end_ns;
};
std::int64_t monotonic_ns();
// By which function: libc's, unless another is named.
using ReadClock = int (*)(clockid_t, timespec*);
void read_clock_by(ReadClock function);

}  // namespace tessera::guard

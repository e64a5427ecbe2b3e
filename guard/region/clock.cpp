#include "guard/region/clock.hpp"

#include <atomic>

namespace tessera::guard {
namespace {

constinit std::atomic<ReadClock> read_clock = &clock_gettime;

}  // namespace

void read_clock_by(ReadClock function) {
    read_clock.store(function, std::memory_order_relaxed);
}

std::int64_t monotonic_ns() {
    timespec now = {};
    read_clock.load(std::memory_order_relaxed)(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace tessera::guard

// Wall-clock time, steady time and sleeping.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace tessera {

// Any thread may call.
class Clock {
  public:
    virtual ~Clock() = default;

    // Nanoseconds since 1970, for timestamps that others read. May jump.
    [[nodiscard]] virtual std::int64_t unix_ns() const = 0;
    // Time since an arbitrary moment in the past; never goes back.
    [[nodiscard]] virtual std::chrono::nanoseconds steady() const = 0;
    virtual void sleep_for(std::chrono::milliseconds duration) = 0;
    // The same, but a stop request ends the sleep early.
    virtual void sleep_for(std::chrono::milliseconds duration, const std::stop_token& stop) = 0;
};

}  // namespace tessera

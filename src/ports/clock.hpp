// Time: what the clock on the wall says, how long something took, and waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace tessera {

// Any thread may call.
class Clock {
  public:
    virtual ~Clock() = default;

    // Nanoseconds since 1970, for stamps that others read. May jump.
    [[nodiscard]] virtual std::int64_t unix_ns() const = 0;
    // Since some moment in the past; never goes back.
    [[nodiscard]] virtual std::chrono::nanoseconds steady() const = 0;
    virtual void sleep_for(std::chrono::milliseconds duration) = 0;
    // The same, but a stop request ends it.
    virtual void sleep_for(std::chrono::milliseconds duration, const std::stop_token& stop) = 0;
};

}  // namespace tessera

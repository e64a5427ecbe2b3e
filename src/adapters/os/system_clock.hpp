// The machine's clock.
#pragma once

#include "ports/clock.hpp"

namespace tessera {

class SystemClock final : public Clock {
  public:
    [[nodiscard]] std::int64_t unix_ns() const override;
    [[nodiscard]] std::chrono::nanoseconds steady() const override;
    void sleep_for(std::chrono::milliseconds duration) override;
    void sleep_for(std::chrono::milliseconds duration, const std::stop_token& stop) override;
};

}  // namespace tessera

// The simulated time as the product's clock.
#pragma once

#include "ports/clock.hpp"
#include "testing/simulation/loop.hpp"

namespace tessera::simulation {

class LoopClock final : public Clock {
  public:
    explicit LoopClock(Loop& loop) : loop_(loop) {}

    [[nodiscard]] std::int64_t unix_ns() const override {
        return 1'800'000'000'000'000'000 + loop_.now().count();
    }
    [[nodiscard]] std::chrono::nanoseconds steady() const override { return loop_.now(); }
    void sleep_for(std::chrono::milliseconds duration) override { loop_.sleep(duration); }
    void sleep_for(std::chrono::milliseconds duration, const std::stop_token& stop) override {
        const std::stop_callback wake(stop, [this, me = loop_.me()] { loop_.wake(me); });
        loop_.wait(duration);
    }

  private:
    Loop& loop_;
};

}  // namespace tessera::simulation

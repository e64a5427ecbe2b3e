// A clock that stands still until a test moves it. Sleeping moves it too, at once.
#pragma once

#include <atomic>
#include <functional>

#include "ports/clock.hpp"

namespace tessera {

class FakeClock final : public Clock {
  public:
    void advance(std::chrono::nanoseconds duration) { now_ = now_.load() + duration; }
    // Called in place of every sleep: what happens meanwhile. Set before the first one.
    void on_sleep(std::function<void()> hook) { on_sleep_ = std::move(hook); }
    [[nodiscard]] int sleeps() const { return sleeps_; }

    [[nodiscard]] std::int64_t unix_ns() const override { return now_.load().count(); }
    [[nodiscard]] std::chrono::nanoseconds steady() const override { return now_; }
    void sleep_for(std::chrono::milliseconds duration) override {
        ++sleeps_;
        if (on_sleep_) on_sleep_();
        advance(duration);
    }

  private:
    std::atomic<std::chrono::nanoseconds> now_{std::chrono::seconds(1'000)};
    std::atomic<int> sleeps_ = 0;
    std::function<void()> on_sleep_;
};

}  // namespace tessera

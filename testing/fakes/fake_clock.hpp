// A clock that only a test or a sleep advances. A sleep advances it at once and returns. A sleep
// with a stop token waits instead until another thread advances the clock, unless on_sleep is set.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "ports/clock.hpp"

namespace tessera {

class FakeClock final : public Clock {
  public:
    void advance(std::chrono::nanoseconds duration) {
        {
            const std::scoped_lock lock(mutex_);
            now_ = now_.load() + duration;
        }
        moved_.notify_all();
    }
    // Called in every sleep, to simulate what happens meanwhile. Set it before the first sleep.
    void on_sleep(std::function<void()> hook) { on_sleep_ = std::move(hook); }
    [[nodiscard]] int sleeps() const { return sleeps_; }

    [[nodiscard]] std::int64_t unix_ns() const override { return now_.load().count(); }
    [[nodiscard]] std::chrono::nanoseconds steady() const override { return now_; }
    void sleep_for(std::chrono::milliseconds duration) override {
        ++sleeps_;
        if (on_sleep_) on_sleep_();
        advance(duration);
    }
    void sleep_for(std::chrono::milliseconds duration, const std::stop_token& stop) override {
        if (on_sleep_) return sleep_for(duration);
        std::unique_lock lock(mutex_);
        const auto until = now_.load() + duration;
        moved_.wait(lock, stop, [&] { return now_.load() >= until; });
    }

  private:
    std::atomic<std::chrono::nanoseconds> now_{std::chrono::seconds(1'000)};
    std::atomic<int> sleeps_ = 0;
    std::function<void()> on_sleep_;
    std::mutex mutex_;
    std::condition_variable_any moved_;
};

}  // namespace tessera

// A task that is repeated, in the caller's thread or in its own.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "ports/clock.hpp"

namespace tessera {

// One round of a periodic task. A long round ends early when the stop is requested.
using Round = std::function<void(const std::stop_token&)>;

// Calls `round` at once, and again each time `pause` has passed since it returned. Returns after
// the round during which, or the pause in which, `stop` was requested.
inline void repeat(Clock& clock, std::chrono::milliseconds pause, const std::stop_token& stop,
                   const Round& round) {
    while (!stop.stop_requested()) {
        round(stop);
        clock.sleep_for(pause, stop);
    }
}

// A thread that does so.
class Periodic {
  public:
    // `clock` and what `round` refers to outlive this object. The thread starts with start().
    Periodic(Clock& clock, std::chrono::milliseconds pause, Round round)
        : clock_(clock), pause_(pause), round_(std::move(round)) {}

    void start() {
        thread_ = std::jthread(
            [this](const std::stop_token& stop) { repeat(clock_, pause_, stop, round_); });
    }
    // No round runs after this returns. The destructor stops, too.
    void stop() { thread_ = {}; }

  private:
    Clock& clock_;
    const std::chrono::milliseconds pause_;
    const Round round_;
    std::jthread thread_;
};

}  // namespace tessera

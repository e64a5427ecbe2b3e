// An arbiter for the containers of a test, as the agent runs one.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "guard/arbiter/tick.hpp"

namespace tessera::guard {

// Runs as long as this object lives. The constructor makes the first tick.
class ArbiterThread {
  public:
    explicit ArbiterThread(std::vector<Sharer> sharers, TimeSlices slices = kNoTimeSlices)
        : sharers_(std::move(sharers)), arbiter_(slices) {
        tick(arbiter_, sharers_, monotonic_ns());
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }

    // CPU time that sharing out has cost so far.
    [[nodiscard]] std::int64_t cpu_ns() const { return cpu_ns_; }
    // The kernels' time that a container was charged so far.
    [[nodiscard]] std::int64_t charged_ns(Arbiter::Id id) const {
        const std::scoped_lock lock(mutex_);
        return arbiter_.used_ns(id, WorkKind::kernels);
    }

  private:
    void run(const std::stop_token& stop) {
        auto next = kLatestTick;
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(next);
            const auto start = std::chrono::steady_clock::now();
            {
                const std::scoped_lock lock(mutex_);
                tick(arbiter_, sharers_, monotonic_ns());
            }
            next = until_next_tick(std::chrono::steady_clock::now() - start);
            timespec used = {};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            cpu_ns_ = used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
        }
    }

    const std::vector<Sharer> sharers_;
    mutable std::mutex mutex_;  // guards the next
    Arbiter arbiter_;
    std::atomic<std::int64_t> cpu_ns_ = 0;
    std::jthread thread_;
};

}  // namespace tessera::guard

// One life of the controller: the product's Keeper, Scheduler and Feed behind an API server and a
// clock that are simulated. A request is a task of its process.
#pragma once

#include <memory>

#include "app/scheduler/feed.hpp"
#include "app/scheduler/scheduler.hpp"
#include "testing/simulation/kube_line.hpp"

namespace tessera::simulation {

class LoopClock final : public Clock {
  public:
    explicit LoopClock(Loop& loop) : loop_(loop) {}

    [[nodiscard]] std::int64_t unix_ns() const override {
        return 1'800'000'000'000'000'000 + loop_.now().count();
    }
    [[nodiscard]] std::chrono::nanoseconds steady() const override { return loop_.now(); }
    void sleep_for(std::chrono::milliseconds duration) override { loop_.sleep(duration); }
    void sleep_for(std::chrono::milliseconds duration, const std::stop_token&) override {
        loop_.sleep(duration);
    }

  private:
    Loop& loop_;
};

class Controller {
  public:
    Controller(Scene& scene, ApiServer& server, int life);
    ~Controller();
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    // As routes.cpp answers: nothing is decided before the first lists are in.
    [[nodiscard]] bool synced() const { return feed_.synced(); }
    Scheduler& scheduler() { return scheduler_; }
    Process& process() { return process_; }
    [[nodiscard]] int life() const { return life_; }
    [[nodiscard]] std::shared_ptr<const ClusterView> view() const { return keeper_.view(); }
    // Of a moment in which no task of it runs.
    std::size_t pending_count();

  private:
    void posted();

    Scene& scene_;
    const int life_;
    KubeLine kube_;
    LoopClock clock_;
    std::shared_ptr<bool> turn_due_ = std::make_shared<bool>(false);
    Keeper keeper_;
    SchedulerMetrics metrics_;
    Scheduler scheduler_;
    Feed feed_;
    Process process_;  // last: its tasks use the rest
};

}  // namespace tessera::simulation

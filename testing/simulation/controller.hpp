// One life of the controller: the product's Keeper, Scheduler and Feed behind an API server and a
// clock that are simulated. A request is a task of its process.
#pragma once

#include <memory>
#include <optional>

#include "app/scheduler/election.hpp"
#include "app/scheduler/feed.hpp"
#include "app/scheduler/own_preemption.hpp"
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
    void sleep_for(std::chrono::milliseconds duration, const std::stop_token& stop) override {
        const std::stop_callback wake(stop, [this, me = loop_.me()] { loop_.wake(me); });
        loop_.wait(duration);
    }

  private:
    Loop& loop_;
};

class Controller {
  public:
    // `replica`: which of the controllers, 0 or 1. It keeps its name from life to life.
    Controller(Scene& scene, ApiServer& server, int replica, int life);
    ~Controller();
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    // As routes.cpp answers: nothing is decided before the first lists are in.
    [[nodiscard]] bool synced() const { return feed_.synced(); }
    // As routes.cpp asks before a bind.
    [[nodiscard]] bool leads() const {
        return !election_ || election_->may_write(KubeApi::kBindTakes);
    }
    [[nodiscard]] std::string leader_url() const {
        return election_ ? election_->leader_url() : "";
    }
    [[nodiscard]] const std::string& url() const { return url_; }
    // As routes.cpp answers; nothing where the question is sent on to the leader.
    std::optional<FilterAnswer> filter(const ExtenderArgs& args);
    Scheduler& scheduler() { return scheduler_; }
    // A request, in a task of this process.
    template <class Function>
    auto answer(const Function& work) {
        struct Count {
            int& under_way;
            explicit Count(int& number) : under_way(number) { ++under_way; }
            ~Count() { --under_way; }
        };
        const Count count(under_way_);
        return work(*this);
    }
    // Takes no more requests, finishes those under way, gives the Lease back.
    void retire();
    [[nodiscard]] bool retiring() const { return retiring_; }
    [[nodiscard]] bool retired() const { return retired_; }
    Process& process() { return process_; }
    [[nodiscard]] int life() const { return life_; }
    [[nodiscard]] int replica() const { return replica_; }
    [[nodiscard]] std::shared_ptr<const ClusterView> view() const { return keeper_.view(); }
    // Of a moment in which no task of it runs.
    std::size_t pending_count();

  private:
    void posted();

    void elect();
    [[nodiscard]] std::function<bool(std::chrono::nanoseconds)> fence() const;

    Scene& scene_;
    const int replica_;
    const int life_;
    const std::string url_;
    int under_way_ = 0;
    bool retiring_ = false;
    bool retired_ = false;
    KubeLine kube_;
    LoopClock clock_;
    std::shared_ptr<bool> turn_due_ = std::make_shared<bool>(false);
    Keeper keeper_;
    SchedulerMetrics metrics_{clock_};
    std::stop_source election_ends_;
    std::shared_ptr<Election> election_;  // null: this one is alone
    Scheduler scheduler_;
    std::stop_source preempting_ends_;
    bool preempting_ = false;
    OwnPreemption preemption_;
    Feed feed_;
    Process process_;  // last: its tasks use the rest
};

}  // namespace tessera::simulation

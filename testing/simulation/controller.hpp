// One process lifetime of a controller: the product's ClusterCache, Scheduler and Informers with a
// simulated API server and clock. Each request is a task of its process.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "app/scheduler/informers/informers.hpp"
#include "app/scheduler/leader/election.hpp"
#include "app/scheduler/nomination/nominator.hpp"
#include "app/scheduler/scheduler.hpp"
#include "app/scheduler/self_preemption/self_preemption.hpp"
#include "testing/simulation/faulty_kube_api.hpp"
#include "testing/simulation/loop_clock.hpp"

namespace tessera::simulation {

class Controller {
  public:
    // `replica`: the number of the controller, 0 or 1. It stays the same over restarts, unlike
    // `life`.
    Controller(Scene& scene, ApiServer& server, int replica, int life);
    ~Controller();
    Controller(const Controller&) = delete;
    Controller& operator=(const Controller&) = delete;

    // As in routes.cpp, requests are refused until the first lists are complete.
    [[nodiscard]] bool synced() const { return informers_.synced(); }
    // The check of routes.cpp before a bind.
    [[nodiscard]] bool leads() const {
        return !election_ || election_->may_write(KubeApi::kBindTakes);
    }
    [[nodiscard]] std::string leader_url() const {
        return election_ ? election_->leader_url() : "";
    }
    [[nodiscard]] const std::string& url() const { return url_; }
    // The response of routes.cpp; std::nullopt if the request is redirected to the leader.
    std::optional<FilterAnswer> filter(const ExtenderArgs& args);
    Scheduler& scheduler() { return scheduler_; }
    // Handles a request in a task of this process.
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
    // Accepts no more requests, finishes the current ones, and releases the Lease.
    void retire();
    [[nodiscard]] bool retiring() const { return retiring_; }
    [[nodiscard]] bool retired() const { return retired_; }
    Process& process() { return process_; }
    [[nodiscard]] int life() const { return life_; }
    [[nodiscard]] int replica() const { return replica_; }
    [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const { return cache_.snapshot(); }
    // When its current term as the leader began; 0 without an election.
    [[nodiscard]] Time leads_since() const { return leads_since_; }
    // When the filter last offered the node for the pod; 0: never.
    [[nodiscard]] Time last_offer(const PodUid& pod, const NodeName& node) const {
        const auto at = last_offers_.find({pod, node});
        return at == last_offers_.end() ? Time{} : at->second;
    }
    // The number of pending pods. Call it only while no task of this process runs.
    std::size_t pending_count();

  private:
    void posted();

    void elect();
    // Runs a task of the leader again and again, until the controller retires.
    template <class Round>
    void repeat_round(Time period, const Round& round);
    [[nodiscard]] NominatorTools nominator_tools();
    void check_refusal(const Snapshot& snapshot, const ExtenderArgs& args);
    [[nodiscard]] WriteFence fence() const;
    [[nodiscard]] ElectionOptions election_options();

    Scene& scene_;
    const int replica_;
    const int life_;
    const std::string url_;
    int under_way_ = 0;
    bool retiring_ = false;
    bool retired_ = false;
    FaultyKubeApi kube_;
    LoopClock clock_;
    std::shared_ptr<bool> turn_due_ = std::make_shared<bool>(false);
    ClusterCache cache_;
    SchedulerMetrics metrics_{clock_};
    std::stop_source election_ends_;
    bool own_scheduler_leads_ = false;  // as it was read last
    Time leads_since_{};
    std::shared_ptr<Election> election_;  // null if there is only one controller
    Scheduler scheduler_;
    std::stop_source rounds_end_;
    std::map<std::pair<PodUid, NodeName>, Time> last_offers_;
    int rounds_ = 0;  // the tasks that repeat_round() has started
    SelfPreemption preemption_;
    Nominator nominator_;
    Informers informers_;
    Process process_;  // last, because its tasks use the other members
};

}  // namespace tessera::simulation

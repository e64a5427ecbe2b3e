// The scheduler extender's use-cases: which nodes can take a pod, which are best, and giving it its
// cards. Any thread may call; filter and prioritize read one view, bind goes through the keeper.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <vector>

#include "app/scheduler/gangs.hpp"
#include "app/scheduler/keeper.hpp"
#include "app/scheduler/placements.hpp"
#include "app/scheduler/second_look.hpp"
#include "app/scheduler/waiting.hpp"
#include "ports/clock.hpp"
#include "ports/kube_api.hpp"
#include "wire/allocation_seal.hpp"
#include "wire/extender_json.hpp"
#include "wire/preemption_json.hpp"

namespace tessera {

struct SchedulerOptions {
    const Placements* placements = nullptr;  // null: binpack for all
    std::size_t best_nodes = 0;              // node_choice.hpp
    const AllocationSeal* seal = nullptr;    // null: allocations are not signed
    // Whether a write that is over within that time begins now (election.hpp); null: always.
    std::function<bool(std::chrono::nanoseconds)> begin_write = {};
};

class Scheduler {
  public:
    // All that is referred to outlives the scheduler.
    Scheduler(KubeApi& kube, Keeper& keeper, Clock& clock, const SchedulerOptions& options);

    // Takes a moment longer when the pod fits nowhere now (second_look.hpp).
    [[nodiscard]] FilterAnswer filter(const ExtenderArgs& args);
    // The same in two steps, for a replica that may send the question on instead: what the view
    // says now, and the answer that it comes to, which is counted (waiting()).
    // Keeps rooms for gangs.
    [[nodiscard]] FilterAnswer first_look(const ExtenderArgs& args);
    [[nodiscard]] FilterAnswer settle_filter(const ExtenderArgs& args, FilterAnswer first);
    // What these pods, the pending ones, wait for; others are forgotten.
    [[nodiscard]] WaitingCounts waiting(const std::vector<PodUid>& pending) {
        return waiting_.count(pending, clock_.steady());
    }
    // Parallel to args.names (node_choice.hpp).
    [[nodiscard]] std::vector<int> prioritize(const ExtenderArgs& args) const;
    // The pods that must end, by node (preemption.hpp).
    [[nodiscard]] std::vector<NodeVictims> preempt(const PreemptionArgs& args) const;
    // Reserves, writes the one Binding, settles a lost answer. Safe to repeat. unavailable when
    // this controller may not write now.
    Result<> bind(const BindArgs& args);
    // Reads the pods whose Binding no watch event has shown for a while; frees what was never
    // bound, and what was kept for gangs in vain. Called every few seconds by one thread.
    void settle_unconfirmed();

  private:
    [[nodiscard]] Result<> check_fence() const;
    // The pod that kube-scheduler binds, of which the watch has not shown us that it is pending.
    Result<PodAsk> read_ask(const BindArgs& args);
    Result<Reservation> reserve(const BindArgs& args);
    [[nodiscard]] std::shared_ptr<const NodeRater> rater_of(const PodAsk& pod) const;
    Result<> write_binding(const BindArgs& args, const Reservation& reservation);
    Result<> settle(const BindArgs& args, const Reservation& reservation, const Error& cause);

    KubeApi& kube_;
    Keeper& keeper_;
    Clock& clock_;
    const SchedulerOptions options_;
    SecondLook second_look_;
    WaitingPods waiting_;
    Gangs gangs_;
    // Of settle_unconfirmed's thread.
    std::map<std::pair<PodUid, int>, std::chrono::nanoseconds> unconfirmed_since_;  // by attempt
};

}  // namespace tessera

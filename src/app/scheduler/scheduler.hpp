// The scheduler extender's use cases: which nodes can take a pod, which are best, and giving the
// pod its GPUs. Any thread may call; filter and prioritize read one snapshot, bind goes through the
// cache.
#pragma once

#include <chrono>
#include <map>
#include <vector>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/filter/stale_snapshot_retry.hpp"
#include "app/scheduler/filter/waiting.hpp"
#include "app/scheduler/gang/gangs.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "domain/dialect/dialect.hpp"
#include "ports/clock.hpp"
#include "ports/kube/kube_api.hpp"
#include "wire/extender/extender_json.hpp"
#include "wire/extender/preemption_json.hpp"
#include "wire/tessera/allocation_seal.hpp"

namespace tessera {

struct SchedulerOptions {
    const PolicySet* policies = nullptr;   // null: binpack for all
    std::size_t best_nodes = 0;            // node_choice.hpp
    const AllocationSeal* seal = nullptr;  // null: allocations are not signed
    WriteFence fence = {};
    const Dialects* dialects = &all_dialects();  // that pods may be written in; outlives this
};

class Scheduler {
  public:
    // All references outlive the scheduler.
    Scheduler(KubeApi& kube, ClusterCache& cache, Clock& clock, const SchedulerOptions& options);

    [[nodiscard]] const Dialects& dialects() const { return *options_.dialects; }

    // Takes a moment longer if the pod fits nowhere now (stale_snapshot_retry.hpp).
    [[nodiscard]] FilterAnswer filter(const ExtenderArgs& args);
    // The same in two steps, for a replica that may send the request on instead. first_look()
    // answers from the current snapshot, and makes the reservations of a gang. finish_filter()
    // returns the final answer, which waiting() counts.
    [[nodiscard]] FilterAnswer first_look(const ExtenderArgs& args);
    [[nodiscard]] FilterAnswer finish_filter(const ExtenderArgs& args, FilterAnswer first);
    // What these pods, the pending ones, wait for; other pods are forgotten.
    [[nodiscard]] WaitingCounts waiting(const std::vector<PodUid>& pending) {
        return waiting_.count(pending, clock_.steady());
    }
    // Parallel to args.names (node_choice.hpp).
    [[nodiscard]] std::vector<int> prioritize(const ExtenderArgs& args) const;
    // The victims, by node (preemption.hpp).
    [[nodiscard]] std::vector<NodeVictims> preempt(const PreemptionArgs& args) const;
    // Reserves, writes the one Binding, reconciles a lost answer. Safe to repeat. unavailable if
    // this controller may not write now.
    Result<> bind(const BindArgs& args);
    // Reads the pods whose Binding no watch event has shown for a while. Frees what was never
    // bound, and unused reservations of gangs. Called every few seconds by one thread.
    void reconcile_uncertain();

  private:
    // Reads a pod that kube-scheduler binds before the watch has shown it as pending.
    Result<PodRequest> read_request(const BindArgs& args);
    Result<Reservation> reserve(const BindArgs& args);
    [[nodiscard]] std::shared_ptr<const NodeScorer> scorer_of(const PodRequest& pod) const;
    Result<> write_binding(const BindArgs& args, const Reservation& reservation);
    Result<> reconcile(const BindArgs& args, const Reservation& reservation, const Error& cause);

    KubeApi& kube_;
    ClusterCache& cache_;
    Clock& clock_;
    const SchedulerOptions options_;
    StaleSnapshotRetry stale_snapshot_retry_;
    WaitingPods waiting_;
    Gangs gangs_;
    // Used by the thread of reconcile_uncertain().
    std::map<std::pair<PodUid, int>, std::chrono::nanoseconds> unconfirmed_since_;  // by attempt
};

}  // namespace tessera

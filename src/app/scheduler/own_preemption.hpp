// Preemption where kube-scheduler sees nothing to preempt for. It counts a node's sums, and asks an
// extender for victims only where by them a pod of lower priority is in the way. A pod that lacks
// room on one card of a node with enough in sum, or that asks for what kube-scheduler is told to
// ignore, would wait for ever behind pods of any priority.
//
// So for a pod that every node refused, and that kube-scheduler has nominated to none, others are
// evicted by us: those that plan_preemption names, on the node where that costs least, none of them
// against a PodDisruptionBudget. The pod is nominated to the node first, so that the room is kept
// for it. Budgets may change between the question and the eviction, and one pod may end before
// another is found to stay: then the rest follows when the pod is refused again.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/metrics.hpp"
#include "domain/placement/policy.hpp"
#include "domain/placement/victims.hpp"
#include "ports/clock.hpp"
#include "ports/evictions.hpp"
#include "wire/extender_json.hpp"

namespace tessera {

class OwnPreemption {
  public:
    // kube-scheduler, where it can preempt by itself, has done so by then.
    static constexpr std::chrono::seconds kPatience{2};
    // Pods to be looked after at once; of more, those of the highest priority.
    static constexpr std::size_t kMost = 64;
    // Pods that may not be evicted, found so, before a pod is left waiting until it is refused
    // again.
    static constexpr std::size_t kMostGuarded = 16;

    // All that is referred to outlives it. `begin_write` as SchedulerOptions has it.
    OwnPreemption(Evictions& evictions, Keeper& keeper, SchedulerMetrics& metrics, Clock& clock,
                  const Policy& policy, std::function<bool(std::chrono::nanoseconds)> begin_write);

    // Whether the end of others could help a pod that was refused so. Any thread.
    [[nodiscard]] bool may_help(const ExtenderArgs& args, const FilterAnswer& refused) const;
    // Remembers it until a round takes its turn. Any thread.
    void note(const ExtenderArgs& args, const FilterAnswer& refused);
    // Makes room for the pods whose time has come. Of one thread.
    void run_round();
    void run(const std::stop_token& stop);

  private:
    struct Refused {
        int priority = 0;
        std::vector<NodeName> nodes;  // where nothing but cards is missing
        std::chrono::nanoseconds due{};
    };
    struct Choice {
        const NodeView* node = nullptr;
        Preemption plan;
    };
    using Due = std::vector<std::pair<PodUid, Refused>>;

    [[nodiscard]] Due take_due();
    void make_room(const PodAsk& pod, const std::vector<NodeName>& nodes);
    [[nodiscard]] std::vector<Choice> choices(const ClusterView& view, const PodAsk& pod,
                                              const std::vector<NodeName>& nodes) const;
    [[nodiscard]] Result<> preempt(const PodAsk& pod, std::vector<Choice> choices);
    [[nodiscard]] Result<> carry_out(const PodAsk& pod, const Choice& choice);
    void await_nomination(const PodAsk& pod);

    Evictions& evictions_;
    Keeper& keeper_;
    SchedulerMetrics& metrics_;
    Clock& clock_;
    const Policy& policy_;
    const std::function<bool(std::chrono::nanoseconds)> begin_write_;

    std::mutex mutex_;
    std::map<PodUid, Refused> refused_;  // guarded by mutex_
};

}  // namespace tessera

// Preemption for cases that kube-scheduler does not see. It counts a node's sums, and asks an
// extender for victims only if a pod of lower priority is a problem by these sums. Other pods would
// wait for ever behind pods of any priority: a pod that does not fit on one GPU of a node with
// enough in sum, or one that requests a resource that kube-scheduler ignores by its configuration.
//
// So for a pod that every node refused, and that kube-scheduler has not nominated, the leader
// evicts other pods: the victims that plan_preemption chooses, on the node where that costs least,
// and none against a PodDisruptionBudget. It does the same for a nominated pod whose node has no
// space for it any more. If the pod will fit anyway, no pod is evicted. PreemptionReservations
// carries out the choice (docs/decisions/0010-own-preemption.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

#include "app/scheduler/scheduler.hpp"
#include "app/scheduler/self_preemption/preemption_reservations.hpp"
#include "app/scheduler/self_preemption/unschedulable_pods.hpp"
#include "domain/placement/victims.hpp"
#include "wire/extender/extender_json.hpp"

namespace tessera {

class SelfPreemption {
  public:
    static constexpr std::chrono::milliseconds kPeriod{500};
    // For this long a pod that may not be evicted is not checked again.
    static constexpr std::chrono::seconds kGuarded{30};
    // For this long a nomination by kube-scheduler is trusted, if it is to a node that we are not
    // asked about.
    static constexpr std::chrono::minutes kBelieved{5};
    // Pods found guarded in one turn, before the waiting pod must wait for its next turn.
    static constexpr int kMostGuarded = 32;

    explicit SelfPreemption(ReservationTools tools);

    // Scheduler::filter, and preemption for a pod that finds no node. Nothing if the leader must
    // answer instead: `is_sent_on` says so, and is called if evictions may help. Any thread.
    std::optional<FilterAnswer> filter(Scheduler& scheduler, const ExtenderArgs& args,
                                       const std::function<bool()>& is_sent_on);
    // Whether evictions could help a pod with this answer. Any thread.
    [[nodiscard]] bool may_help(const ExtenderArgs& args, const FilterAnswer& refused) const;
    // Records what the filter answered for a pod. Any thread.
    void note(const ExtenderArgs& args, const FilterAnswer& answer);
    // Preempts for the pods that are due. Call it from one thread only.
    void run_round(const std::stop_token& stop = {});
    // The number of current reservations. Any thread.
    [[nodiscard]] std::size_t reservations() const { return reservations_.count(); }

  private:
    using Time = UnschedulablePods::Time;
    using Refused = UnschedulablePods::Entry;
    using Stop = std::stop_token;

    struct Choice {
        const NodeInfo* node = nullptr;
        Preemption plan;
    };
    // The result of a pod's turn. After an error the pod is tried again, too.
    enum class Turn { over, again };
    // For a pod that is nominated, not by us.
    enum class Nomination { holds, believed, empty };

    Result<Turn> look_after(const PodUid& uid, Refused& refused, const Stop& stop);
    [[nodiscard]] Nomination judge(const Snapshot& snapshot, const PendingPod& pod,
                                   const Refused& refused) const;
    Result<Turn> choose(const Snapshot& snapshot, const PendingPod& pod, const Refused& refused,
                        const Stop& stop);
    [[nodiscard]] std::vector<Choice> choices(const Snapshot& snapshot, const PodRequest& pod,
                                              const std::vector<NodeName>& nodes,
                                              const std::vector<PodUid>& stay) const;
    [[nodiscard]] std::vector<PodUid> guarded() const;
    Result<> take_cheapest(const PendingPod& pod, const Refused& refused,
                           std::vector<Choice> choices, std::size_t most, const Stop& stop);
    Result<const AssignedPod*> first_guarded(const Preemption& plan);
    Result<> begin(const PendingPod& pod, const Refused& refused, const Choice& choice,
                   const Stop& stop);

    const ReservationTools tools_;
    UnschedulablePods refused_;
    // Used by the round's thread.
    PreemptionReservations reservations_;
    std::map<PodUid, Time> guarded_until_;
};

}  // namespace tessera

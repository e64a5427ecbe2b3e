// Preemption where kube-scheduler sees nothing to preempt for. It counts a node's sums, and asks an
// extender for victims only where by them a pod of lower priority is in the way. A pod that lacks
// room on one card of a node with enough in sum, or that asks for what kube-scheduler is told to
// ignore, would wait for ever behind pods of any priority.
//
// So for a pod that every node refused, and that kube-scheduler has nominated to none, the leader
// evicts others: those that plan_preemption names, on the node where that costs least, none of them
// against a PodDisruptionBudget. So is it for a nominated pod whose room has come to nothing. Where
// it would get room anyhow, nobody ends. What was chosen is made by PromisedRooms
// (docs/decisions/0010-own-preemption.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

#include "app/scheduler/promised_rooms.hpp"
#include "app/scheduler/refused_pods.hpp"
#include "app/scheduler/scheduler.hpp"
#include "domain/placement/victims.hpp"
#include "wire/extender_json.hpp"

namespace tessera {

class OwnPreemption {
  public:
    // Who may not be evicted is not asked about again for so long.
    static constexpr std::chrono::seconds kGuarded{30};
    // For a node that we are not asked about, a nomination of kube-scheduler's own is believed so
    // long.
    static constexpr std::chrono::minutes kBelieved{5};
    // Pods found guarded in one turn, before the one that waits must wait for its next.
    static constexpr int kMostGuarded = 32;

    explicit OwnPreemption(RoomTools tools);

    // Scheduler::filter, with this behind it for a pod that finds no node. Nothing where the leader
    // is to answer instead: `is_sent_on` says so, and is asked where the end of others may help.
    // Any thread.
    std::optional<FilterAnswer> filter(Scheduler& scheduler, const ExtenderArgs& args,
                                       const std::function<bool()>& is_sent_on);
    // Whether the end of others could help a pod that was refused so. Any thread.
    [[nodiscard]] bool may_help(const ExtenderArgs& args, const FilterAnswer& refused) const;
    // What the filter answered for a pod. Any thread.
    void note(const ExtenderArgs& args, const FilterAnswer& answer);
    // Makes room for the pods whose time has come. Of one thread.
    void run_round(const std::stop_token& stop = {});
    void run(const std::stop_token& stop);
    // Promised to pods now. Any thread.
    [[nodiscard]] std::size_t rooms() const { return rooms_.count(); }

  private:
    using Time = RefusedPods::Time;
    using Refused = RefusedPods::Entry;
    using Stop = std::stop_token;

    struct Choice {
        const NodeView* node = nullptr;
        Preemption plan;
    };
    // What a pod's turn came to. An error has the pod tried again, too.
    enum class Turn { over, again };
    // For a pod that is nominated, not by us.
    enum class Nomination { holds, believed, empty };

    [[nodiscard]] bool leads() const;
    Result<Turn> look_after(const PodUid& uid, Refused& refused, const Stop& stop);
    [[nodiscard]] Nomination judge(const ClusterView& view, const PendingPod& pod,
                                   const Refused& refused) const;
    Result<Turn> choose(const ClusterView& view, const PendingPod& pod, const Refused& refused,
                        const Stop& stop);
    [[nodiscard]] std::vector<Choice> choices(const ClusterView& view, const PodAsk& pod,
                                              const std::vector<NodeName>& nodes,
                                              const std::vector<PodUid>& stay) const;
    [[nodiscard]] std::vector<PodUid> guarded() const;
    Result<> take_cheapest(const PendingPod& pod, const Refused& refused,
                           std::vector<Choice> choices, std::size_t most, const Stop& stop);
    Result<const Tenant*> first_guarded(const Preemption& plan);
    Result<> begin(const PendingPod& pod, const Refused& refused, const Choice& choice,
                   const Stop& stop);

    const RoomTools tools_;
    RefusedPods refused_;
    // Of the round's thread.
    PromisedRooms rooms_;
    std::map<PodUid, Time> guarded_until_;
};

}  // namespace tessera

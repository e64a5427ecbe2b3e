// Preemption where kube-scheduler sees nothing to preempt for. It counts a node's sums, and asks an
// extender for victims only where by them a pod of lower priority is in the way. A pod that lacks
// room on one card of a node with enough in sum, or that asks for what kube-scheduler is told to
// ignore, would wait for ever behind pods of any priority.
//
// So for a pod that every node refused, and that kube-scheduler has nominated to none, the leader
// evicts others: those that plan_preemption names, on the node where that costs least, none of them
// against a PodDisruptionBudget. So is it for a nominated pod whose room has come to nothing. Where
// it would get room anyhow, nobody ends. The room is promised to the pod before anybody ends
// (ClusterState::promise), and the pod is nominated to the node afterwards: a nomination makes
// kube-scheduler ask again, and it would take it back if it saw nobody end there for its sake
// (docs/decisions/0010-own-preemption.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <utility>
#include <vector>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/metrics.hpp"
#include "app/scheduler/scheduler.hpp"
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
    // Until a pod is looked after again for which it did not go well.
    static constexpr std::chrono::seconds kRetry{10};
    // Who may not be evicted is not asked about again for so long.
    static constexpr std::chrono::seconds kGuarded{30};
    // Where some have ended and the rest may not yet, it is tried again for so long.
    static constexpr std::chrono::minutes kMaking{5};
    // Then they have ended in vain, and for so long nobody ends where it takes several: the pods of
    // a budget that allows one eviction at a time must not be ended one after the other.
    static constexpr std::chrono::minutes kSeveral{5};
    // For a node that we are not asked about, a nomination of kube-scheduler's own is believed so
    // long.
    static constexpr std::chrono::minutes kBelieved{5};
    // A promise whose room lies free for so long is taken back: kube-scheduler has another reason.
    static constexpr std::chrono::minutes kUnclaimed{5};
    // And nobody ends for such a pod for so long; twice as long each time it comes to that again.
    static constexpr std::chrono::minutes kRest{10};
    // kube-scheduler tries every pod again within five minutes. What it does not ask for any more
    // is forgotten.
    static constexpr std::chrono::minutes kForgotten{6};
    // Pods to be looked after at once; of more, those of the highest priority.
    static constexpr std::size_t kMost = 64;
    // Pods found guarded in one turn, before the one that waits must wait for its next.
    static constexpr int kMostGuarded = 32;

    // All that is referred to outlives it. `begin_write` as SchedulerOptions has it.
    OwnPreemption(Evictions& evictions, Keeper& keeper, SchedulerMetrics& metrics, Clock& clock,
                  const Policy& policy, std::function<bool(std::chrono::nanoseconds)> begin_write);

    // Scheduler::filter, with this behind it for a pod that finds no node. Nothing where the leader
    // is to answer instead: `is_sent_on` says so, and is asked where the end of others may help.
    // Any thread.
    std::optional<FilterAnswer> filter(Scheduler& scheduler, const ExtenderArgs& args,
                                       const std::function<bool()>& is_sent_on);
    // Whether the end of others could help a pod that was refused so. Any thread.
    [[nodiscard]] bool may_help(const ExtenderArgs& args, const FilterAnswer& refused) const;
    // Remembers it until a round takes its turn. Any thread.
    void note(const ExtenderArgs& args, const FilterAnswer& refused);
    // It found a node since. Any thread.
    void forget(const PodUid& pod);
    // Makes room for the pods whose time has come. Of one thread.
    void run_round(const std::stop_token& stop = {});
    void run(const std::stop_token& stop);

  private:
    using Time = std::chrono::nanoseconds;
    // What is remembered of a refused pod from turn to turn.
    struct History {
        int turns = 0;       // in which nothing came of it
        NodeName nominated;  // when it was looked after last, and since when
        Time nominated_since{};
    };
    struct Refused {
        int priority = 0;
        std::vector<NodeName> nodes;  // that its end may change, as the filter said last
        Time due{};
        Time last{};  // refusal
        History history{};
    };
    struct Waiting {
        PendingPod pod;
        bool is_being_bound = false;
    };
    struct Rest {
        Time until{};
        Time span{};
    };
    struct Choice {
        const NodeView* node = nullptr;
        Preemption plan;
    };
    // Room for a pod: who has still to be told to end for it.
    struct Making {
        NodeName node;
        std::deque<std::pair<PodUid, PodName>> left;
        Time since{};
        Time due{};
        bool has_ended = false;  // somebody
    };
    using Due = std::vector<std::pair<PodUid, Refused>>;
    enum class Outcome { settled, try_again };
    enum class Room { none, believed, coming };

    void leave_one_out();
    [[nodiscard]] Due take_due();
    void take_back_unclaimed();
    bool is_promise_over(const PodUid& uid, std::optional<Time>& free_since);
    void retry(const PodUid& pod, Refused refused);
    [[nodiscard]] std::optional<Waiting> waiting(const PodUid& uid) const;
    [[nodiscard]] Room room_for(const ClusterView& view, const PendingPod& pod,
                                const Refused& refused) const;
    Result<Outcome> look_after(const PodUid& uid, Refused& refused, const std::stop_token& stop);
    [[nodiscard]] std::size_t most_victims(const PodUid& pod) const;
    [[nodiscard]] std::vector<Choice> choices(const ClusterView& view, const PodAsk& pod,
                                              const std::vector<NodeName>& nodes,
                                              const std::vector<PodUid>& stay) const;
    [[nodiscard]] std::vector<PodUid> guarded() const;
    Result<Outcome> preempt(const PendingPod& pod, std::vector<Choice> choices, std::size_t most,
                            const std::stop_token& stop);
    Result<const Tenant*> first_guarded(const Preemption& plan);
    Result<> carry_out(const PendingPod& pod, const Choice& choice, const std::stop_token& stop);
    Result<> make_room(const PodUid& uid, Making& making, const std::stop_token& stop);
    void go_on(const std::stop_token& stop);
    Result<> evict(const PodUid& victim, const PodName& name, const PodName& preemptor,
                   const std::stop_token& stop);
    [[nodiscard]] bool leads() const;
    [[nodiscard]] Result<> check_fence() const;
    bool promise(const PendingPod& pod, const Choice& choice);
    void give_up(const PodUid& pod);

    Evictions& evictions_;
    Keeper& keeper_;
    SchedulerMetrics& metrics_;
    Clock& clock_;
    const Policy& policy_;
    const std::function<bool(std::chrono::nanoseconds)> begin_write_;

    std::mutex mutex_;
    std::map<PodUid, Refused> refused_;  // guarded by mutex_
    std::minstd_rand chance_;            // guarded by mutex_
    // Of the round's thread.
    std::map<PodUid, Time> guarded_until_;
    std::map<PodUid, std::optional<Time>> promised_;  // since when its room lies free
    std::map<PodUid, Making> making_;                 // begun, and not at its end
    Time several_after_{};
    std::map<PodUid, Rest> rests_;
};

}  // namespace tessera

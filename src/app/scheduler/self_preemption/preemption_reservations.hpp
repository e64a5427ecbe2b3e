// Reservations on a node for a pod that preempts, from its start until the pod is bound or the
// reservation is given up. The victims are evicted one after the other, and before each eviction
// the node is checked again: a pod may have come, or one may have ended by itself. At the end the
// pod is nominated to the node, not earlier. A nomination makes kube-scheduler ask again, and
// kube-scheduler would remove it if no pod on the node were ending for it. Used from one thread,
// except count().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "app/scheduler/observe/metrics.hpp"
#include "app/scheduler/self_preemption/unschedulable_pods.hpp"
#include "domain/placement/victims.hpp"
#include "ports/clock.hpp"
#include "ports/kube/evictions.hpp"

namespace tessera {

// What reservations need. All of it outlives its users.
struct ReservationTools {
    Evictions& evictions;
    ClusterCache& cache;
    SchedulerMetrics& metrics;
    Clock& clock;
    WriteFence fence;
};

class PreemptionReservations {
  public:
    // A pod that was offered a node may be on its way there (volumes): for this long no pod is
    // evicted for it.
    static constexpr std::chrono::seconds kOffered{30};
    // If some victims have ended and the others may not be evicted yet, it is tried again for this
    // long.
    static constexpr std::chrono::minutes kEvicting{5};
    // After that, the evictions so far were without use. For this long, no preemption begins that
    // needs several victims. Otherwise the pods of a budget that allows one eviction at a time
    // could be evicted one after the other, for one waiting pod after the other.
    static constexpr std::chrono::minutes kSeveral{5};
    // A node that kube-scheduler has not asked about for the pod for this long is given up.
    static constexpr std::chrono::minutes kNotAsked{5};
    // So is one whose reserved GPUs are free for this long: kube-scheduler has another reason not
    // to use it.
    static constexpr std::chrono::minutes kUnclaimed{5};
    // So is one where other pods have the GPUs for this long, or that cannot be used.
    static constexpr std::chrono::seconds kLost{30};
    // A victim that has not ended after this long may never end.
    static constexpr std::chrono::minutes kSlow{10};
    // For this long no other pod waits for victims that end on that node.
    static constexpr std::chrono::minutes kSlowNode{30};
    // For this long no pod is evicted for a pod whose reservation was given up; twice as long each
    // time.
    static constexpr std::chrono::minutes kRest{10};

    // A pod that waits, or that is being bound and may wait again.
    struct Waiting {
        PendingPod pod;
        bool is_being_bound = false;
    };

    PreemptionReservations(ReservationTools tools, UnschedulablePods& refused);

    // Makes the reservation and starts the evictions that are possible at once; tend() goes on with
    // them. If the reservation is given up, the pod is handled again with its entry `refused`.
    // Makes no reservation if the pod waits no more, or was nominated since.
    Result<> begin(const PendingPod& pod, const NodeName& node, const Preemption& plan,
                   const UnschedulablePods::Entry& refused, const std::stop_token& stop);
    // Continues every reservation.
    void tend(const std::stop_token& stop);

    [[nodiscard]] bool has(const PodUid& pod) const { return reservations_.contains(pod); }
    // Whether its victims have been ending for longer than other pods should wait.
    [[nodiscard]] bool is_slow(const PodUid& pod) const;
    // Gives the reservation up, so that victims are chosen elsewhere.
    void give_up_slow(const PodUid& pod);
    [[nodiscard]] bool is_node_slow(const NodeName& node) const;
    // How many pods may be evicted for the pod at once, after the results so far.
    [[nodiscard]] std::size_t most_victims(const PodUid& pod) const;
    // Nothing if the pod is gone, or has its GPUs for good.
    [[nodiscard]] std::optional<Waiting> waiting(const PodUid& uid) const;
    // Any thread.
    [[nodiscard]] std::size_t count() const { return count_; }

  private:
    using Time = UnschedulablePods::Time;

    struct Victim {
        PodUid uid;
        PodName name;
    };
    // While a NodeReservation is in reservations_, the pod has its reserved node in the
    // ClusterState, with these victims, and is watched in UnschedulablePods. is_over() and
    // give_up() end all three.
    struct NodeReservation {
        NodeName node;
        PodName pod;
        std::vector<Victim> left;       // to be evicted, if still needed
        std::vector<PodUid> evicted;    // or gone by then
        bool may_have_evicted = false;  // a victim was evicted, or the answer was lost
        bool is_held_up = false;        // a victim may not be evicted, or not yet
        bool may_be_nominated = false;
        bool is_nominated = false;
        Time since{};
        Time due{};  // the next write, after one that failed
        std::optional<Time> free_since;
        std::optional<Time> lost_since;
        UnschedulablePods::Entry refused;
    };
    // A nomination of ours that is to be removed.
    struct Clear {
        NodeName node;
        Time due{};
    };
    struct Rest {
        Time until{};
        Time span{};
    };
    enum class EvictionOutcome { evicted, gone, forbidden };
    enum class Why { lost, not_asked, not_all, none_evicted, unclaimed, slow };
    struct WhyRow {
        Why why;
        const char* text;
        bool is_restarted;  // the pod is handled again at once
        bool rests;         // even if no pod was evicted
    };
    static const WhyRow& row_of(Why why);

    // What must happen so that the pod gets its GPUs.
    struct Look {
        Preemption::Kind kind = Preemption::Kind::never;
        std::optional<PodUid> next;  // the next victim, of Kind::evict
    };

    bool reserve_node(const PendingPod& pod, const NodeReservation& reservation);
    bool is_over(const PodUid& uid, NodeReservation& reservation, const std::stop_token& stop);
    std::optional<Why> go_on(const PodUid& uid, const PodRequest& request,
                             NodeReservation& reservation, const std::stop_token& stop);
    [[nodiscard]] std::optional<Look> look_at(const PodUid& uid, const PodRequest& request,
                                              const NodeReservation& reservation) const;
    [[nodiscard]] bool may_go_elsewhere(const PodUid& uid, const PodRequest& request,
                                        const NodeReservation& reservation) const;
    std::optional<Why> evict_next(const PodUid& uid, const PodRequest& request, const PodUid& next,
                                  NodeReservation& reservation, const std::stop_token& stop);
    std::optional<Why> keep(const PodUid& uid, const PodRequest& request, bool is_free,
                            NodeReservation& reservation);
    Result<EvictionOutcome> evict(const Victim& victim, const PodName& preemptor);
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node);
    void put_off(NodeReservation& reservation, const Error& error) const;
    void give_up(const PodUid& uid, const NodeReservation& reservation, Why why);
    void let_rest(const PodUid& uid);
    bool is_cleared(const PodUid& uid, Clear& clear);

    const ReservationTools tools_;
    UnschedulablePods& refused_;
    std::map<PodUid, NodeReservation> reservations_;
    std::map<PodUid, Clear> clears_;
    std::map<PodUid, Rest> rests_;
    std::map<NodeName, Time> slow_until_;
    Time several_after_{};
    std::atomic<std::size_t> count_ = 0;
};

}  // namespace tessera

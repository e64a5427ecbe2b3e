// The controller's mutable state: GPUs and the pods that have them. Pure: events in, snapshots out.
// One owner applies the events one after the other; readers use the snapshots.
//
// Invariants:
//  1. A pod has its GPUs from `reserve` until it is finished or gone from the API. A deletion
//     request frees nothing, because its containers may still run. Nor does a change of its
//     annotation, which its user may write. A resize changes the amounts; until it is done, the
//     larger ones count.
//  2. `reserve` never allocates more of a GPU than its capacity.
//  3. Everything but reservations can be rebuilt from the API server. A Binding that was being
//     written when the controller stopped is observed when it arrives. If it takes a GPU over its
//     capacity, the GPU has no free memory, and the metric tessera_gpu_overcommitted shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "domain/cluster/gang_index.hpp"
#include "domain/cluster/pod_group.hpp"
#include "domain/cluster/pod_info.hpp"
#include "domain/placement/node_scorer.hpp"
#include "domain/placement/place.hpp"
#include "domain/scheduling/host_loads.hpp"
#include "domain/scheduling/model_numbers.hpp"
#include "domain/scheduling/snapshot_builder.hpp"

namespace tessera {

// What a reservation on a node is for.
enum class ReservedBy { preemption, gang, nominator };

// A pod that requests GPUs, is on no node yet, and is to be placed.
struct PendingPod {
    Result<PodRequestPtr> request;  // an error if the request is invalid
    SchedulingRulesPtr scheduling;  // null: unknown
    NodeName nominated;             // as the API server shows it; usually empty
    bool is_shown_ahead = false;    // that nomination is ours, and ahead of its turn
    NodeName reserved_node;         // set by reserve_node()
    ReservedBy reserved_by = {};    // of reserved_node
    std::vector<PodUid> victims;    // evicted there for it
    NodeName given_up;              // set by give_up(): this nomination no longer counts
    // A growing number: at equal priority the smaller one comes first.
    std::uint64_t reservation_order = 0;
    // Its place in the queue: when it was created or, if later, last refused.
    std::string queued_since;
    std::uint64_t queue_number = 0;  // a growing number, for pods of the same second
    bool is_offered = false;         // kube-scheduler has a node for it, and is about to bind it

    // The node with its reservation (nominees.hpp); usually empty.
    [[nodiscard]] NodeName reserved_on() const {
        if (!reserved_node.empty()) return reserved_node;
        return nominated == given_up ? NodeName() : nominated;
    }
    [[nodiscard]] bool is_nominated_ahead() const {
        if (!reserved_node.empty()) return reserved_by == ReservedBy::nominator;
        return is_shown_ahead && nominated != given_up;
    }
};

// A pod that waits for its turn at kube-scheduler.
struct QueuedPod {
    PodRequestPtr request;
    SchedulingRulesPtr scheduling;  // not null
};

// A pending pod with a reservation.
struct ReservedPod {
    PodName name;
    std::string scheduler;  // empty: unknown
    int priority = 0;
    NodeName node;
    bool is_ahead = false;                  // Nominee::is_ahead
    std::optional<ReservedBy> reserved_by;  // nothing: only the API server shows it
};

// A new pod that requests GPUs, whether or not it is placed. Placement policies learn the mix of
// requests from the arrivals.
struct Arrival {
    std::string created;  // PodInfo::created
    PodRequest pod;
};
struct Arrivals {
    std::vector<Arrival> pods;  // in the order in which they were observed
    // Totals, in thousandths of GPUs, that pods received and released.
    std::int64_t allocated_milli = 0;
    std::int64_t released_milli = 0;
};

// The pods of a gang that exist now.
struct GangNow {
    struct NotCounted {
        std::string name;
        std::string why;

        friend bool operator==(const NotCounted&, const NotCounted&) = default;
    };
    std::size_t placed = 0;               // pods that have their GPUs
    std::vector<PodRequestPtr> waiting;   // ascending by name
    std::vector<NotCounted> not_counted;  // pods that are not placed and do not count; by name
    std::set<int> sizes;                  // that the pods state; more than one if they disagree

    [[nodiscard]] std::size_t pods() const { return placed + waiting.size(); }
};

// A pod with unknown annotations.
struct PodUnknownAnnotations {
    PodName name;
    std::vector<std::string> texts;  // PodInfo::unknown_annotations

    friend bool operator==(const PodUnknownAnnotations&, const PodUnknownAnnotations&) = default;
};

// What `begin_resize` decided.
struct ResizeDecision {
    enum class Kind {
        write,  // replace the old allocation by `after`, then read the pod again
        done,   // the pod requests nothing, or has it already
        later,  // the watch is behind
    };
    Kind kind = Kind::done;
    Allocation before = {};  // of Kind::write, like `after`
    Allocation after = {};
    NodeInventory node = {};  // at the time of the decision
};

// What `reserve` decided.
struct Reservation {
    enum class Kind {
        write,  // write the Binding (again, if an earlier response was lost), then call confirm(),
                // refuse() or release()
        done,   // the API server already shows the pod bound like this: report success
        nothing,  // the pod requests no GPU: nothing is reserved
    };
    Kind kind = Kind::write;
    Allocation allocation;
    NodeInventory node;  // at the time of the decision
    Attempt attempt;     // of Kind::write
};

class ClusterState {
  public:
    void set_node(NodeInventory inventory);
    void remove_node(const NodeName& name);
    // Call it only with what a list or a watch showed, in that order: a pod from another read may
    // be gone meanwhile. False if the pod's annotation differs from what it was when the pod was
    // first shown bound, and is no resize of it: the first one stays in force.
    bool set_pod(const PodInfo& pod);
    void remove_pod(const PodUid& uid);
    // After a list: removes the nodes or pods that the API no longer has. Reservations that the
    // watch has not confirmed stay, because the list may be older than they are.
    void keep_only_nodes(const std::set<NodeName>& names);
    void keep_only_pods(const std::set<PodUid>& uids);

    void set_pod_group(const PodGroup& group) { pod_groups_[group.id] = group.min_count; }
    void remove_pod_group(const GangId& group) { pod_groups_.erase(group); }
    void keep_only_pod_groups(const std::set<GangId>& groups) {
        std::erase_if(pod_groups_, [&](const auto& of) { return !groups.contains(of.first); });
    }

    // Reserves GPUs of the node. If several GPUs are free, `scorer` chooses; best fit does if
    // `scorer` is null or cannot decide. Errors, each with the reason: not_found (no such node),
    // conflict (bound elsewhere, or another attempt is in progress), unavailable (does not fit
    // now).
    Result<Reservation> reserve(const PodRequest& request, const NodeName& node,
                                const NodeScorer* scorer = nullptr);
    // The Binding was written, or is uncertain and counts until the API server shows otherwise.
    void confirm(const Attempt& attempt);
    // The API server refused this attempt. The pod has nothing, unless an earlier attempt is
    // uncertain.
    void refuse(const Attempt& attempt);
    // It is certain that no attempt so far has bound the pod or will bind it: the pod has nothing.
    // No effect if the watch has shown the pod bound.
    void release(const Attempt& attempt);

    // Releases every pod in unconfirmed(). Call it only if this state includes a list that was read
    // after the last moment at which one of their attempts could have an effect.
    void release_unconfirmed();

    // Pods with a resize request that is neither granted nor refused. Ascending by uid.
    [[nodiscard]] const std::map<PodUid, PodName>& resize_requests() const {
        return resize_requests_;
    }
    // Pods that were shown with unknown annotations before they were on a node, until they are
    // gone. Pods that already run when the controller starts were reported before. Ascending by
    // uid.
    [[nodiscard]] const std::map<PodUid, PodUnknownAnnotations>& unknown_annotations() const {
        return unknown_annotations_;
    }

    // Decides whether a pod, as it was just read, may have what it requests. If so, the larger of
    // the old and new amounts count until the watch shows the pod resized, or until a later call
    // sets `is_over`: the earlier decision was not written and will not be. Errors are refusals,
    // with texts for the user; amounts of an earlier decision still count.
    Result<ResizeDecision> begin_resize(const PodInfo& pod, bool is_over);
    // The last decision was not written and will not be.
    void end_resize(const PodUid& uid);

    // Reserves GPUs of a node for a pending pod, as a nomination does, until the pod is on a node
    // or gone, or the API server shows a new nomination for another node. The victims count as
    // terminating from now on; they may be evicted one after the other. False if the pod is no
    // longer pending.
    bool reserve_node(const PodUid& uid, const NodeName& node, ReservedBy by,
                      std::vector<PodUid> victims = {});
    // Releases the reservation or nomination of a pod.
    void give_up(const PodUid& uid);
    // Releases all reservations of this kind. If the API server shows such a pod nominated, that
    // counts from now on.
    void end_reservations(ReservedBy by);

    // The pods of a scheduler that wait for their turn, in kube-scheduler's order: the highest
    // priority first, then by creation or last refusal. Only pods for which this state knows all
    // that decides where they may run (SchedulingRules::has_others), and none of a gang or with GPU
    // affinity; nor those for which `is_left_out` is true. Of the first `skip` + `most`, without
    // the first `skip`, those without a reservation or a nomination.
    [[nodiscard]] std::vector<QueuedPod> queue(
        const std::string& scheduler, std::size_t skip, std::size_t most,
        const std::function<bool(const PodUid&)>& is_left_out) const;
    // kube-scheduler has a node for the pod: it leaves the queue until it is refused, or its bind
    // fails after it had its GPUs. No effect if it is not pending.
    void note_offered(const PodUid& uid);
    // kube-scheduler found no node for the pod at that time (RFC 3339 in UTC, as PodInfo::created):
    // it comes after the pods that wait since earlier. No effect if it is not pending.
    void note_refused(const PodUid& uid, const std::string& now);
    // Ascending by uid.
    [[nodiscard]] std::map<PodUid, ReservedPod> reserved_pods() const;

    // Pods whose last attempt was confirmed and that no watch event has shown since.
    [[nodiscard]] std::vector<AssignedPodPtr> unconfirmed() const;
    [[nodiscard]] const PendingPod* pending(const PodUid& uid) const;
    // The pending state of a pod that is being bound, for the case that the bind fails.
    [[nodiscard]] const PendingPod* being_bound(const PodUid& uid) const;
    [[nodiscard]] std::size_t pending_count() const { return pending_.size(); }
    // The node on which a pending pod has a reservation, with the victims as the API server shows
    // them. Nothing if there is none, or the node is gone.
    [[nodiscard]] std::optional<NodeInfo> reserved_node(const PodUid& uid) const;
    // Only pods that request GPUs.
    [[nodiscard]] GangNow gang(const GangId& gang) const;
    // How many pods of the pod's gang are placed together; 0 if each is placed alone. Nothing if
    // its PodGroup is not known.
    [[nodiscard]] std::optional<int> gang_size(const PodRequest& pod) const;
    // In no order.
    [[nodiscard]] std::vector<PodUid> pending_pods() const {
        std::vector<PodUid> out;
        out.reserve(pending_.size());
        for (const auto& [uid, pod] : pending_)
            out.push_back(uid);
        return out;
    }

    // The arrivals since the last call; at most the latest kMostArrivals.
    static constexpr std::size_t kMostArrivals = 100'000;
    [[nodiscard]] Arrivals take_arrivals();

    // The current snapshot. Cheap if nothing changed.
    std::shared_ptr<const Snapshot> snapshot();

  private:
    // A pod that has GPUs of its node, but it is not known which.
    struct UnattributedPod {
        PodInfo pod;
        std::string why;      // with the pod's name: only for readers of its namespace
        std::string unnamed;  // the same for any reader
        // It requests GPUs, runs, and has no allocation of its own, because the allocation was
        // removed or changed while this controller did not watch. If gpushare's plugin serves the
        // node, the plugin let the pod start without a GPU.
        bool only_with_agent = false;
    };
    struct NodeState {
        NodeInventory inventory;
        bool known = false;  // false while only pods name the node
        int model = 0;       // number of its GPUs' model (ModelNumbers)
        std::vector<TopologyGroup> topology_groups;
        std::vector<AssignedPodPtr>
            assigned_pods;              // those of assigned_pods_, ascending by name, then uid
        std::vector<Nominee> nominees;  // those of pending_, as in NodeInfo
        std::map<PodUid, UnattributedPod> unattributed;
    };

    void take_bound(const PodInfo& pod);
    void note_arrival(const std::string& created, const PodRequest& pod);
    void note_host(const PodUid& pod, const NodeName& node, const HostRequest& request);
    void forget_host(const PodUid& pod);
    [[nodiscard]] std::int64_t milli_of(const AssignedPod& assigned_pod) const;
    void note_resize_request(const PodInfo& pod);
    void note_gang(const PodInfo& pod);
    void note_unknown_annotations(const PodInfo& pod);
    void update_seen(const AssignedPod& assigned, const PodInfo& pod);
    void judge_again(const NodeState& node);
    Result<Reservation> reserve_again(const PodRequest& pod, const NodeName& node);
    [[nodiscard]] static std::optional<PendingPod> read_pending(const PodInfo& pod,
                                                                const PendingPod* before);
    void set_pending(const PodInfo& pod);
    // A pod in the order of queue().
    struct QueuePlace {
        int priority = 0;
        std::string since;
        std::uint64_t number = 0;
        PodUid uid;

        friend bool operator<(const QueuePlace& a, const QueuePlace& b) {
            return std::tie(b.priority, a.since, a.number) <
                   std::tie(a.priority, b.since, b.number);
        }
    };
    static bool is_queued(const PendingPod& pod);
    void requeue(const PodUid& uid, const std::function<void(PendingPod&)>& change);
    static QueuePlace place_of(const PendingPod& pod);
    void add_pending(const PodUid& uid, PendingPod pod);
    std::optional<PendingPod> end_pending(const PodUid& uid);
    void free_again(const PodUid& uid);
    void assign(AssignedPod assigned_pod);
    [[nodiscard]] const AssignedPod* on_attempt(const Attempt& attempt) const;
    void set_unobserved(const AssignedPodPtr& assigned_pod);
    void drop(const PodUid& uid);
    void block(UnattributedPod unattributed);
    void unblock(const PodUid& uid);
    // Removes a node that is gone and that no pod names any more.
    void forget_if_unused(const NodeName& name);
    void refresh(const NodeName& name);
    // `but`: the pod whose victims are shown as the API server shows them.
    [[nodiscard]] NodeInfo build(const NodeState& node, const PodUid& but = {}) const;
    [[nodiscard]] std::vector<AssignedPodPtr> assigned_pods_of(const NodeState& node,
                                                               const PodUid& but) const;
    bool replace_dirty();
    [[nodiscard]] Allocation from_legacy(const PodInfo& pod, const NodeState& node) const;

    std::map<NodeName, NodeState> nodes_;
    std::unordered_map<PodUid, AssignedPodPtr> assigned_pods_;
    UnobservedIndex unobserved_;
    std::unordered_map<PodUid, PodInfo> legacy_pods_;  // read again when their node's GPUs change
    std::unordered_map<PodUid, NodeName> blocked_by_;  // unattributed pod → its node
    std::unordered_map<PodUid, PendingPod> pending_;
    // The pending state of pods that have GPUs but were not observed as bound, for the case that
    // the bind fails.
    std::unordered_map<PodUid, PendingPod> being_bound_;

    // Of pending_: the queue of each scheduler, and the pods with a reservation.
    std::map<std::string, std::set<QueuePlace>> queues_;
    std::set<PodUid> reserved_pods_;

    std::map<PodUid, PodName> resize_requests_;
    std::map<PodUid, PodUnknownAnnotations> unknown_annotations_;
    HostLoads host_;
    ModelNumbers models_;
    Arrivals arrivals_;
    GangIndex gangs_;
    std::map<GangId, int> pod_groups_;  // PodGroup::min_count

    std::set<NodeName> dirty_;
    bool names_changed_ = true;
    std::uint64_t reservation_orders_ = 0;
    std::uint64_t queue_numbers_ = 0;
    SnapshotBuilder builder_;
    std::shared_ptr<const Snapshot> snapshot_ = std::make_shared<Snapshot>();
};

}  // namespace tessera

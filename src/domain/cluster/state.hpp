// The controller's mutable state: cards and who holds them. Pure: events in, views out. One owner
// applies events one after the other; readers use the views.
//
// Invariants:
//  1. A pod holds its cards from `reserve` until it is finished or gone from the API, whatever
//     happens in between: being asked to terminate frees nothing (its containers may still run),
//     and neither does another text in its annotation, which its owner may write. A resize changes
//     how much of its cards it holds; while one is under way it holds what covers both.
//  2. `reserve` never takes a card over its capacity.
//  3. Everything but reservations can be rebuilt from the API server. A Binding that was on its way
//     when the controller died is seen when it lands; a card that it takes over its capacity is
//     shown as such (metric tessera_gpu_overcommitted), and has no room.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "domain/cluster/gang_index.hpp"
#include "domain/cluster/host_loads.hpp"
#include "domain/cluster/model_numbers.hpp"
#include "domain/cluster/pod_facts.hpp"
#include "domain/cluster/pod_group.hpp"
#include "domain/cluster/view_builder.hpp"
#include "domain/placement/node_rater.hpp"
#include "domain/placement/place.hpp"

namespace tessera {

// A pod that asks for GPUs, is on no node yet, and is to be placed.
struct PendingPod {
    Result<PodAskPtr> ask;        // an error where its request makes no sense
    NodeName nominated;           // as the API server shows it; empty mostly
    NodeName promised;            // by promise()
    std::vector<PodUid> victims;  // that end there for it
    NodeName given_up;            // by give_up(): this nomination counts no more
    std::uint64_t kept_turn = 0;  // a number that grows: among equals the first comes first

    // Where room is kept for it (nominees.hpp); empty mostly.
    [[nodiscard]] NodeName kept_on() const {
        if (!promised.empty()) return promised;
        return nominated == given_up ? NodeName() : nominated;
    }
};

// A pod that asks for GPUs and was not there before, whatever becomes of it: what placement
// policies learn the mix of requests from.
struct Arrival {
    std::string created;  // PodFacts::created
    PodAsk pod;
};
struct Arrivals {
    std::vector<Arrival> pods;  // in the order in which they were shown
    // Thousandths of cards that pods were given, and gave back, in all.
    std::int64_t placed_milli = 0;
    std::int64_t released_milli = 0;
};

// The pods of a gang that are there now.
struct GangNow {
    struct Aside {
        std::string name;
        std::string why;

        friend bool operator==(const Aside&, const Aside&) = default;
    };
    std::size_t placed = 0;          // that hold their cards
    std::vector<PodAskPtr> waiting;  // ascending by name
    std::vector<Aside> aside;        // that nobody places, and that do not count; by name
    std::set<int> sizes;             // that they give; more than one where they do not agree

    [[nodiscard]] std::size_t pods() const { return placed + waiting.size(); }
};

// Of a pod whose annotations are not all read by somebody.
struct PodSlips {
    PodName name;
    std::vector<std::string> texts;  // PodFacts::slips

    friend bool operator==(const PodSlips&, const PodSlips&) = default;
};

// What `begin_resize` decided.
struct ResizeTurn {
    enum class Kind {
        write,  // write the allocation in the old one's place, then read the pod again
        done,   // the pod wishes for nothing, or has it
        later,  // the watch is behind
    };
    Kind kind = Kind::done;
    Allocation before = {};  // of Kind::write, like the next
    Allocation after = {};
    NodeInventory node = {};  // as the decision saw it
};

// What `reserve` decided.
struct Reservation {
    enum class Kind {
        write,    // write the Binding (again, when an earlier answer was lost), then say confirm(),
                  // refuse() or release()
        done,     // the API server has shown the pod bound like this: say yes
        nothing,  // the pod asks for no GPU: nobody's cards are touched
    };
    Kind kind = Kind::write;
    Allocation allocation;
    NodeInventory node;  // as the decision saw it
    Attempt attempt;     // of Kind::write
};

class ClusterState {
  public:
    void set_node(NodeInventory inventory);
    void remove_node(const NodeName& name);
    // Only what a list or a watch showed, in its order: a pod that was read may be gone since.
    // False when the pod's annotation says something else than it did when the pod was first shown
    // bound, and is no resize of that: what it said then counts.
    bool set_pod(const PodFacts& pod);
    void remove_pod(const PodUid& uid);
    // After a list: nodes and pods that the API no longer has are gone. Reservations that the watch
    // has not confirmed stay: the list may be older than they are.
    void keep_only_nodes(const std::set<NodeName>& names);
    void keep_only_pods(const std::set<PodUid>& uids);

    void set_pod_group(const PodGroup& group) { pod_groups_[group.id] = group.min_count; }
    void remove_pod_group(const GangId& group) { pod_groups_.erase(group); }
    void keep_only_pod_groups(const std::set<GangId>& groups) {
        std::erase_if(pod_groups_, [&](const auto& of) { return !groups.contains(of.first); });
    }

    // Errors: not_found (no such node), conflict (bound elsewhere, or another try is under way),
    // unavailable (does not fit now), each with the reason.
    // Which of the cards that are free the pod gets is `rater`'s to say, and the best fit's where
    // it is null or can't tell.
    Result<Reservation> reserve(const PodAsk& asked, const NodeName& node,
                                const NodeRater* rater = nullptr);
    // The Binding was written, or is in doubt and must be counted until the API says otherwise.
    void confirm(const Attempt& attempt);
    // The API server refused this attempt. The pod holds nothing, unless an earlier one is in
    // doubt.
    void refuse(const Attempt& attempt);
    // It is sure that no attempt so far has bound the pod or will: it holds nothing. No effect once
    // the watch has shown the pod bound.
    void release(const Attempt& attempt);

    // The same for every pod in unconfirmed(): a list that was read after the last moment in which
    // one of their attempts could have effect is in this state.
    void release_unconfirmed();

    // Pods that were shown with a wish that is neither granted nor refused. Ascending by uid.
    [[nodiscard]] const std::map<PodUid, PodName>& wishes() const { return wishes_; }
    // Pods that were shown with slips before they were on a node, until they are gone: those that
    // run at a restart were told before. Ascending by uid.
    [[nodiscard]] const std::map<PodUid, PodSlips>& slips() const { return slips_; }

    // Of a pod as it was just read: may it have what it wishes for? If so it holds what covers the
    // old amounts and the new ones from now on, until the watch shows it resized, or a later call
    // says `is_over`: what was decided before has not happened, and will not. Errors are refusals,
    // for the user; what was decided before is held still.
    Result<ResizeTurn> begin_resize(const PodFacts& pod, bool is_over);
    // What was decided has not happened, and will not.
    void end_resize(const PodUid& uid);

    // Keeps the room on a node for a pending pod, as a nomination does, until it is on a node or
    // gone, or the API server shows a new nomination elsewhere. The victims count as ending from
    // now on: they need not be told all at once. False when the pod does not wait any more.
    bool promise(const PodUid& uid, const NodeName& node, std::vector<PodUid> victims);
    // The room that is kept for it, by a promise or by a nomination, came to nothing.
    void give_up(const PodUid& uid);

    // Pods whose last attempt was confirmed and that no watch event has shown since.
    [[nodiscard]] std::vector<TenantPtr> unconfirmed() const;
    [[nodiscard]] const PendingPod* pending(const PodUid& uid) const;
    // What a pod that is being bound waits for should it not be.
    [[nodiscard]] const PendingPod* set_aside(const PodUid& uid) const;
    [[nodiscard]] std::size_t pending_count() const { return pending_.size(); }
    // The node on which room is promised to a pod that waits, its victims as the API server shows
    // them. Nothing where there is none, or the node is gone.
    [[nodiscard]] std::optional<NodeView> promised_node(const PodUid& uid) const;
    // Only pods that ask for cards.
    [[nodiscard]] GangNow gang(const GangId& gang) const;
    // How many of the pod's gang are placed together; 0 where each is for itself. Nothing where its
    // PodGroup is not known.
    [[nodiscard]] std::optional<int> gang_size(const PodAsk& pod) const;
    // In no order.
    [[nodiscard]] std::vector<PodUid> pending_pods() const {
        std::vector<PodUid> out;
        out.reserve(pending_.size());
        for (const auto& [uid, pod] : pending_)
            out.push_back(uid);
        return out;
    }

    // Those since the last call; of very many the latest (kMostArrivals).
    static constexpr std::size_t kMostArrivals = 100'000;
    [[nodiscard]] Arrivals take_arrivals();

    // The picture now. Cheap when nothing changed.
    std::shared_ptr<const ClusterView> view();

  private:
    // A pod that holds cards of its node, and nobody can tell which.
    struct Puzzle {
        PodFacts pod;
        std::string why;      // with the pod's name, and for its own namespace alone
        std::string unnamed;  // the same for any reader
        // It asks for GPUs, runs, and has no allocation of its own: somebody removed or changed it
        // while we were not there to see. Where gpushare's plugin serves the node, it was let start
        // without a card.
        bool only_with_agent = false;
    };
    struct NodeState {
        NodeInventory inventory;
        bool known = false;  // false while only pods have named it
        int model = 0;       // ModelNumbers of its cards
        std::vector<Island> islands;
        std::vector<TenantPtr> tenants;   // those of tenants_, ascending by name, then uid
        std::vector<PodAskPtr> nominees;  // those of pending_, as in NodeView
        std::map<PodUid, Puzzle> puzzles;
    };

    void take_bound(const PodFacts& pod);
    void note_arrival(const std::string& created, const PodAsk& pod);
    void note_host(const PodUid& pod, const NodeName& node, const HostAsk& ask);
    void forget_host(const PodUid& pod);
    [[nodiscard]] std::int64_t milli_of(const Tenant& tenant) const;
    void note_wish(const PodFacts& pod);
    void note_gang(const PodFacts& pod);
    void note_slips(const PodFacts& pod);
    void update_seen(const Tenant& held, const PodFacts& pod);
    void judge_again(const NodeState& node);
    Result<Reservation> reserve_again(const PodAsk& pod, const NodeName& node);
    [[nodiscard]] static std::optional<PendingPod> read_pending(const PodFacts& pod,
                                                                const PendingPod* before);
    void set_pending(const PodFacts& pod);
    void add_pending(const PodUid& uid, PendingPod pod);
    std::optional<PendingPod> end_pending(const PodUid& uid);
    void free_again(const PodUid& uid);
    void hold(Tenant tenant);
    [[nodiscard]] const Tenant* on_attempt(const Attempt& attempt) const;
    void set_unseen(const TenantPtr& tenant);
    void drop(const PodUid& uid);
    void block(Puzzle puzzle);
    void unblock(const PodUid& uid);
    // A node that left and that no pod names any more.
    void forget_if_unused(const NodeName& name);
    void refresh(const NodeName& name);
    // `but`: whose victims are shown as the API server shows them.
    [[nodiscard]] NodeView build(const NodeState& node, const PodUid& but = {}) const;
    [[nodiscard]] std::vector<TenantPtr> tenants_of(const NodeState& node, const PodUid& but) const;
    bool replace_dirty();
    [[nodiscard]] Allocation from_legacy(const PodFacts& pod, const NodeState& node) const;

    std::map<NodeName, NodeState> nodes_;
    std::unordered_map<PodUid, TenantPtr> tenants_;
    UnseenIndex unseen_;
    std::unordered_map<PodUid, PodFacts> legacy_pods_;  // re-read when their node's cards change
    std::unordered_map<PodUid, NodeName> blocked_by_;   // pod of a puzzle → its node
    std::unordered_map<PodUid, PendingPod> pending_;
    // Of pods that hold cards and that nobody has seen bound: what they wait for should they not
    // be.
    std::unordered_map<PodUid, PendingPod> set_aside_;

    std::map<PodUid, PodName> wishes_;
    std::map<PodUid, PodSlips> slips_;
    HostLoads host_;
    ModelNumbers models_;
    Arrivals arrivals_;
    GangIndex gangs_;
    std::map<GangId, int> pod_groups_;  // PodGroup::min_count

    std::set<NodeName> dirty_;
    bool names_changed_ = true;
    std::uint64_t kept_turns_ = 0;
    ViewBuilder builder_;
    std::shared_ptr<const ClusterView> view_ = std::make_shared<ClusterView>();
};

}  // namespace tessera

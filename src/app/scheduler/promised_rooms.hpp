// Room on a node that is promised to a pod, from the promise until the pod is bound or the room has
// come to nothing. Who has to end for it is told so one after the other, and before each end the
// room is looked at anew: somebody may have come, or gone by himself. At last the pod is nominated
// to the node: a nomination makes kube-scheduler ask again, and it would take it back if it saw
// nobody end there for its sake. All of one thread, but for count().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

#include "app/scheduler/keeper.hpp"
#include "app/scheduler/metrics.hpp"
#include "app/scheduler/refused_pods.hpp"
#include "domain/placement/victims.hpp"
#include "ports/clock.hpp"
#include "ports/evictions.hpp"

namespace tessera {

// What room is promised and made with. All of it outlives its users.
struct RoomTools {
    Evictions& evictions;
    Keeper& keeper;
    SchedulerMetrics& metrics;
    Clock& clock;
    std::function<bool(std::chrono::nanoseconds)> begin_write;  // as SchedulerOptions has it
};

class PromisedRooms {
  public:
    // A pod that was offered a node may be on its way there (volumes): nobody ends for it so long.
    static constexpr std::chrono::seconds kOffered{30};
    // Where some have ended and the rest may not yet, it is tried again for so long.
    static constexpr std::chrono::minutes kMaking{5};
    // Then they have ended in vain, and for so long nobody ends for any pod where it takes several:
    // the pods of a budget that allows one eviction at a time must not be ended one after the
    // other, for one pod that waits after the other.
    static constexpr std::chrono::minutes kSeveral{5};
    // A node that kube-scheduler does not ask about for the pod is no place for it after so long.
    static constexpr std::chrono::minutes kNotAsked{5};
    // Nor is one whose room lies free for so long: kube-scheduler has another reason.
    static constexpr std::chrono::minutes kUnclaimed{5};
    // Nor one where others hold its room for so long, or that is out of order.
    static constexpr std::chrono::seconds kLost{30};
    // Who has not ended after so long may never.
    static constexpr std::chrono::minutes kSlow{10};
    // And nobody else waits for what ends on that node, for so long.
    static constexpr std::chrono::minutes kSlowNode{30};
    // Nobody ends for a pod whose room came to nothing, for so long; twice as long each time.
    static constexpr std::chrono::minutes kRest{10};

    // A pod that waits, or that is being bound and may wait again.
    struct Waiting {
        PendingPod pod;
        bool is_being_bound = false;
    };

    PromisedRooms(RoomTools tools, RefusedPods& refused);

    // Promises the room and makes it as far as can be done at once; tend() goes on with it. The
    // pod, should it come to nothing, is looked after again as it was `refused`. No room where the
    // pod waits no more, or was nominated since.
    Result<> begin(const PendingPod& pod, const NodeName& node, const Preemption& plan,
                   const RefusedPods::Entry& refused, const std::stop_token& stop);
    // Looks after every room.
    void tend(const std::stop_token& stop);

    [[nodiscard]] bool has(const PodUid& pod) const { return rooms_.contains(pod); }
    // Who ends for it has not for longer than others should wait.
    [[nodiscard]] bool is_room_slow(const PodUid& pod) const;
    // Others are to end elsewhere.
    void give_up_slow(const PodUid& pod);
    [[nodiscard]] bool is_node_slow(const NodeName& node) const;
    // Who may end for the pod at once, after what came of it before.
    [[nodiscard]] std::size_t most_victims(const PodUid& pod) const;
    // Nothing where it is gone, or has its cards for good.
    [[nodiscard]] std::optional<Waiting> waiting(const PodUid& uid) const;
    // Any thread.
    [[nodiscard]] std::size_t count() const { return count_; }

  private:
    using Time = RefusedPods::Time;

    struct Victim {
        PodUid uid;
        PodName name;
    };
    // As long as one is in rooms_, the pod has its promise in the ClusterState, with these victims,
    // and is watched in RefusedPods; is_over() and give_up() end all three.
    struct Room {
        NodeName node;
        PodName pod;
        std::vector<Victim> left;     // to be told to end, unless they need not
        std::vector<PodUid> told;     // or gone by then
        bool has_ended_some = false;  // or may have: the answer was lost
        bool is_held_up = false;      // somebody may not end, or not yet
        bool may_be_nominated = false;
        bool is_nominated = false;
        Time since{};
        Time due{};  // the next write, after one that failed
        std::optional<Time> free_since;
        std::optional<Time> lost_since;
        RefusedPods::Entry refused;
    };
    // A nomination of ours that is to be taken back.
    struct Clear {
        NodeName node;
        Time due{};
    };
    struct Rest {
        Time until{};
        Time span{};
    };
    enum class Told { ends, gone, stays };
    enum class Why { lost, not_asked, not_all, not_told, unclaimed, slow };
    struct WhyRow {
        Why why;
        const char* text;
        bool is_begun_anew;  // at once
        bool rests;          // though nobody has ended
    };
    static const WhyRow& row_of(Why why);

    // What must happen that the pod has its room.
    struct Look {
        Preemption::Kind kind = Preemption::Kind::never;
        std::optional<PodUid> next;  // to end, of Kind::evict
    };

    bool promise(const PendingPod& pod, const Room& room);
    bool is_over(const PodUid& uid, Room& room, const std::stop_token& stop);
    std::optional<Why> go_on(const PodUid& uid, const PodAsk& ask, Room& room,
                             const std::stop_token& stop);
    [[nodiscard]] std::optional<Look> look_at(const PodUid& uid, const PodAsk& ask,
                                              const Room& room) const;
    [[nodiscard]] bool may_go_elsewhere(const PodUid& uid, const PodAsk& ask,
                                        const Room& room) const;
    std::optional<Why> make(const PodUid& uid, const PodAsk& ask, const PodUid& next, Room& room,
                            const std::stop_token& stop);
    std::optional<Why> hold(const PodUid& uid, const PodAsk& ask, bool is_free, Room& room);
    Result<Told> tell(const Victim& victim, const PodName& preemptor);
    Result<> nominate(const PodUid& uid, const PodName& pod, const NodeName& node);
    [[nodiscard]] Result<> check_fence() const;
    void put_off(Room& room, const Error& error) const;
    void give_up(const PodUid& uid, const Room& room, Why why);
    void let_rest(const PodUid& uid);
    bool is_cleared(const PodUid& uid, Clear& clear);

    const RoomTools tools_;
    RefusedPods& refused_;
    std::map<PodUid, Room> rooms_;
    std::map<PodUid, Clear> clears_;
    std::map<PodUid, Rest> rests_;
    std::map<NodeName, Time> slow_until_;
    Time several_after_{};
    std::atomic<std::size_t> count_ = 0;
};

}  // namespace tessera

// Nominates pods to nodes ahead of their turn. kube-scheduler evaluates a pod's nominated node
// first, and looks at no other node if the pod fits there. So while many pods wait, the leader
// chooses nodes for those that kube-scheduler will take soon, by the cluster's placement policy and
// out of all nodes. It reserves their GPUs, and writes status.nominatedNodeName, many requests at a
// time. kube-scheduler still checks everything, and still asks for filter and bind
// (docs/decisions/0019-nomination-ahead.md).
//
// The API server needs about as long for a nomination as kube-scheduler for 400 nodes. So pods are
// nominated only if kube-scheduler looks at many nodes for each pod. The first pods of the queue
// (NominatorTools::skip) are left to kube-scheduler, which would take them before it sees a
// nomination. So a pod that comes alone is never nominated. Other pods that are left alone: those
// that ClusterState::queue() leaves out, and those that others have nominated.
//
// A nomination is only a hint. If kube-scheduler does not follow it, the reservation is released,
// the nomination is removed, and the pod is not nominated to that node again. But kube-scheduler
// may evict pods of lower priority there, and nominate the pod to the same node, which changes
// nothing in the API. So a nomination stays while such pods terminate (kMakingSpace), and until
// kube-scheduler has had time to ask again (kUnasked).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "app/common/worker_pool.hpp"
#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "app/scheduler/nomination/nomination_plan.hpp"
#include "app/scheduler/nomination/withdrawals.hpp"
#include "app/scheduler/observe/metrics.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "base/mutex.hpp"
#include "domain/cluster/snapshot.hpp"
#include "ports/clock.hpp"
#include "ports/kube/nominations.hpp"
#include "wire/extender/extender_json.hpp"

namespace tessera {

// What the nominator needs. All of it outlives it.
struct NominatorTools {
    Nominations& nominations;
    ClusterCache& cache;
    SchedulerMetrics& metrics;
    Clock& clock;
    WriteFence fence;
    const PolicySet* policies = nullptr;  // null: binpack for all
    // The schedulers (spec.schedulerName) whose pods are nominated: those that use this extender.
    std::vector<std::string> schedulers;
    // Pods are nominated if kube-scheduler looks at this many nodes for each pod.
    std::size_t from_nodes = 0;
    // The first pods of each scheduler's queue, which are left to it. At 300 pods a second,
    // kube-scheduler takes as many before it sees a nomination.
    std::size_t skip = 32;
    // Nominations about which a scheduler has not asked yet: some seconds of its work. After a
    // restart it takes the pods in any order.
    std::size_t window = 2048;
    std::size_t writers = 32;  // requests at a time; 0: in the thread of run_round()
};

class Nominator {
  public:
    static constexpr std::chrono::milliseconds kPeriod{25};
    // How often nominations are looked at that kube-scheduler does not ask about.
    static constexpr std::chrono::seconds kTend{1};
    // If no pod could be nominated, the queue is looked at again after this time.
    static constexpr std::chrono::milliseconds kIdle{250};
    // Nominations that are reserved and written in one round, so that rounds are short.
    static constexpr std::size_t kBatch = 64;
    // Pods of one plan, and the time for planning if their requests differ.
    static constexpr std::size_t kPlan = 2048;
    static constexpr std::chrono::milliseconds kPlanning{100};
    // A pod that kube-scheduler asks about without its node may be on its way to another one.
    static constexpr std::chrono::seconds kOnItsWay{2};
    // A nomination about which kube-scheduler has not asked for this long is removed.
    static constexpr std::chrono::minutes kUnasked{2};
    // Pods that terminate keep a nomination on their node no longer than this.
    static constexpr std::chrono::minutes kMakingSpace{10};
    // One of another program stops counting after this time, unless a pod of lower priority is
    // terminating on its node: it may have been evicted for it.
    static constexpr std::chrono::minutes kForeign{5};
    // If the API server forbids nominations, none is tried for this long.
    static constexpr std::chrono::minutes kDenied{5};
    // If it does not answer, none for this long.
    static constexpr std::chrono::seconds kPause{5};
    // A pod is nominated to this many nodes at most.
    static constexpr std::size_t kMostNodes = 3;
    // A pod that fits nowhere is tried again after this time, and then after twice as long each
    // time, up to kLongestRest.
    static constexpr std::chrono::seconds kRest{5};
    static constexpr std::chrono::seconds kLongestRest{80};

    explicit Nominator(NominatorTools tools);

    // Whether pods are nominated at all; if not, nominations of an earlier leader still end. If so,
    // the leader has to answer every filter request: only it knows which reservations are ahead of
    // their turn, and it has to hear what is asked. Any thread.
    [[nodiscard]] bool is_on() const { return !tools_.schedulers.empty(); }
    // Records what the filter answered for a pod. Any thread.
    void note(const ExtenderArgs& args, const FilterAnswer& answer);
    // Nominates the pods that wait, and ends nominations without success. Call it from one thread
    // only.
    void run_round(const std::stop_token& stop = {});
    // Nothing is written after this returns. Call it after the last run_round().
    void stop() { writers_.stop(); }
    // How often to call run_round().
    [[nodiscard]] std::chrono::milliseconds period() const { return is_on() ? kPeriod : kTend; }
    // The number of current nominations. Any thread.
    [[nodiscard]] std::size_t count() const { return count_; }

  private:
    using Time = std::chrono::nanoseconds;  // Clock::steady

    struct Nomination {
        PodName pod;
        NodeName node;
        std::string scheduler;
        int priority = 0;
        std::uint64_t number = 0;  // later ones have a larger number; 0: made by another leader
        Time since{};              // made, or the last question about the pod
        Time keep_until{};         // pods of lower priority were terminating on the node
        bool is_written = false;   // the API server has answered
        bool is_failed = false;    // with an error
        bool is_followed = false;  // the filter has offered the node
        // The first question since then after which the filter has not offered the node.
        std::optional<Time> without;
        bool is_full = false;  // that question named the node: it has no GPUs for the pod
    };
    // A nomination of another program.
    struct Foreign {
        NodeName node;
        Time since{};
    };
    enum class Ended { not_followed, full, unasked, failed };
    using Reserved = std::map<PodUid, ReservedPod>;
    // Of one scheduler's queue.
    struct Plan {
        std::deque<PlannedPod> pods;
        Time due{};  // of the next plan
    };
    // What is known of a pod while it waits.
    struct Past {
        std::set<NodeName> nodes;  // to which it was nominated without success
        Time rest_until{};
        Time rest{};
    };

    void nominate_queue(const std::string& scheduler, const std::stop_token& stop);
    [[nodiscard]] bool is_worthwhile() const;
    std::size_t unanswered(const std::string& scheduler);
    std::deque<PlannedPod> plan_for(const std::string& scheduler);
    [[nodiscard]] bool is_left_out(const PodUid& uid) const;
    std::vector<PlannedPod> reserve_next(std::deque<PlannedPod>& plan, std::size_t most);
    void let_rest(const PodUid& uid);
    void begin(const std::vector<PlannedPod>& pods);
    void write(const PlannedPod& planned);
    [[nodiscard]] bool is_still_of_use(const PodUid& uid, const NodeName& node);
    void end_unsuccessful();
    void tend(const std::stop_token& stop);
    void tend_own(const Reserved& reserved);
    void tend_shown(const Reserved& reserved);
    void take_over(const PodUid& uid, const ReservedPod& pod);
    bool give_up(const PodUid& uid, const Nomination& nomination, Ended why);
    bool is_kept(Nomination& nomination, Time since, const Snapshot& snapshot) const;
    bool was_passed(const Nomination& nomination);
    static const char* text_of(Ended why);
    Time denied_until();
    void stop_leading();

    const NominatorTools tools_;
    std::atomic<std::size_t> count_ = 0;
    // In the requests for pods without a nomination, lately; 0: there was none.
    std::atomic<std::size_t> asked_nodes_ = 0;

    Mutex mutex_;
    std::map<PodUid, Nomination> nominations_ TESSERA_GUARDED_BY(mutex_);
    // Pods in nominations_ that were asked about and not offered their node, or whose nomination
    // was not written.
    std::set<PodUid> doubtful_ TESSERA_GUARDED_BY(mutex_);
    Time denied_until_ TESSERA_GUARDED_BY(mutex_){};
    // By scheduler and priority: the largest number of a nomination that was asked about.
    std::map<std::pair<std::string, int>, std::uint64_t> asked_ TESSERA_GUARDED_BY(mutex_);
    std::uint64_t numbers_ TESSERA_GUARDED_BY(mutex_) = 0;

    // Used by the round's thread.
    std::map<PodUid, Past> past_;
    std::map<std::string, Plan> plans_;  // by scheduler
    std::uint64_t versions_ = kFirstPlannedVersion;
    Withdrawals withdrawals_;
    std::map<PodUid, Foreign> foreign_;
    Time tend_due_{};
    bool leads_ = false;
    WorkerPool writers_;  // last: its threads use the others
};

}  // namespace tessera

// Pods that every node refused and that evictions may help, until SelfPreemption handles them in
// turn. Any thread may call.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/mutex.hpp"

namespace tessera {

class UnschedulablePods {
  public:
    using Time = std::chrono::nanoseconds;  // Clock::steady

    // If kube-scheduler can preempt by itself, it has done so by then.
    static constexpr std::chrono::seconds kPatience{2};
    // Pause before a pod is handled again after an unsuccessful turn.
    static constexpr std::chrono::seconds kRetry{10};
    // kube-scheduler tries every pod again within five minutes. A pod that it does not ask for any
    // more is forgotten.
    static constexpr std::chrono::minutes kForgotten{6};
    // At the same time. If there are more, pods with unsuccessful turns are left out first, then
    // the least important ones.
    static constexpr std::size_t kMost = 64;

    struct Entry {
        int priority = 0;
        std::vector<NodeName> nodes;  // those of the last filter request
        Time due{};
        Time last{};    // refusal
        int turns = 0;  // unsuccessful ones
        // The nomination at its last turn, and since when it has been the same.
        NodeName nominated;
        Time nominated_since{};
    };
    using Due = std::vector<std::pair<PodUid, Entry>>;

    // What the filters answered for a pod since it has a reservation on a node.
    struct Asked {
        NodeName node;
        std::optional<Time> offered;  // a node was offered, this one or another; not refused since
        // First and last refusal of a request without that node, since that node was named last.
        std::optional<Time> without_since;
        Time without_last{};
    };

    void refused(const PodUid& uid, int priority, std::vector<NodeName> nodes, Time now);
    // A node was offered to the pod: kube-scheduler may be about to use it.
    void offered(const PodUid& uid, Time now);
    // The pods that are due, the most important first: the others do not get what it takes.
    Due take_due(Time now);
    // Handles the pod again later. A newer entry is kept.
    void put_back(const PodUid& uid, Entry entry, Time now);

    void watch(const PodUid& uid, const NodeName& node);
    void watch_no_more(const PodUid& uid);
    // For a pod that is watched.
    [[nodiscard]] Asked asked(const PodUid& uid) const;

  private:
    void leave_one_out() TESSERA_REQUIRES(mutex_);

    mutable Mutex mutex_;
    std::map<PodUid, Entry> waiting_ TESSERA_GUARDED_BY(mutex_);
    std::map<PodUid, Asked> watched_ TESSERA_GUARDED_BY(mutex_);
    std::minstd_rand chance_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera

// Pods that every node refused and that the end of others may help, until their turn comes to be
// looked after (OwnPreemption). Any thread may call.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace tessera {

class RefusedPods {
  public:
    using Time = std::chrono::nanoseconds;  // Clock::steady

    // kube-scheduler, where it can preempt by itself, has done so by then.
    static constexpr std::chrono::seconds kPatience{2};
    // Until a pod is looked after again for which it did not go well.
    static constexpr std::chrono::seconds kRetry{10};
    // kube-scheduler tries every pod again within five minutes. What it does not ask for any more
    // is forgotten.
    static constexpr std::chrono::minutes kForgotten{6};
    // At once. Of more those are left out that nothing came of so far, then the least important.
    static constexpr std::size_t kMost = 64;

    struct Entry {
        int priority = 0;
        std::vector<NodeName> nodes;  // as the filter was asked last
        Time due{};
        Time last{};    // refusal
        int turns = 0;  // in which nothing came of it
        // In its last turn, and since when it was nominated so.
        NodeName nominated;
        Time nominated_since{};
    };
    using Due = std::vector<std::pair<PodUid, Entry>>;

    // What the filters said of a pod since room on a node is promised to it.
    struct Asked {
        NodeName node;
        std::optional<Time> offered;  // another node, or that one; not refused since
        // Refused, that node not named: first and last, since it was named.
        std::optional<Time> without_since;
        Time without_last{};
    };

    void refused(const PodUid& uid, int priority, std::vector<NodeName> nodes, Time now);
    // A node was offered to it: kube-scheduler may be about to take it.
    void offered(const PodUid& uid, Time now);
    // Those whose turn it is, the most important first: what it takes is not there for the others.
    Due take_due(Time now);
    // To be looked after again. What was noted since is newer.
    void put_back(const PodUid& uid, Entry entry, Time now);

    void watch(const PodUid& uid, const NodeName& node);
    void watch_no_more(const PodUid& uid);
    // Of a pod that is watched.
    [[nodiscard]] Asked asked(const PodUid& uid) const;

  private:
    void leave_one_out();

    mutable std::mutex mutex_;
    std::map<PodUid, Entry> waiting_;  // guarded by mutex_
    std::map<PodUid, Asked> watched_;  // guarded by mutex_
    std::minstd_rand chance_;          // guarded by mutex_
};

}  // namespace tessera

// What the pods that fit nowhere wait for, for the metrics. Any thread may call.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "domain/placement/unschedulable_reason.hpp"

namespace tessera {

struct WaitingCounts {
    struct Of {
        int pods = 0;
        std::chrono::nanoseconds longest{};  // since the first refusal
    };
    std::array<Of, kUnschedulableReasons.size()> by_reason;
    // Pending, and not refused by our filter: kube-scheduler did not ask, or found them a node.
    int not_refused = 0;
};

class WaitingPods {
  public:
    // Limits the entries, so that they do not fill the memory if nothing calls count(). Beyond the
    // limit all are forgotten; each comes back with its next refusal.
    static constexpr std::size_t kMost = 100'000;

    // No node took the pod; `now` is steady time.
    void note(const PodUid& pod, UnschedulableReason reason, std::chrono::nanoseconds now);
    // A node took the pod.
    void forget(const PodUid& pod);
    // Counts the pending pods. The others are forgotten, except those of the last minute: our watch
    // may not have shown them yet.
    WaitingCounts count(const std::vector<PodUid>& pending, std::chrono::nanoseconds now);

  private:
    struct Entry {
        UnschedulableReason reason = UnschedulableReason::unknown_node;
        std::chrono::nanoseconds since{};
        std::chrono::nanoseconds last{};
    };
    Mutex mutex_;
    std::unordered_map<PodUid, Entry> entries_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera

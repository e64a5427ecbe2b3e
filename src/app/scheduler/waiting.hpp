// What the pods wait for that were refused everywhere, for the metrics. Any thread may call.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "domain/placement/obstacle.hpp"

namespace tessera {

struct WaitingCounts {
    struct Of {
        int pods = 0;
        std::chrono::nanoseconds longest{};  // since the first refusal
    };
    std::array<Of, kObstacles.size()> by_obstacle;
    // Pending, and refused by no filter of ours: kube-scheduler did not ask, or found them a node.
    int not_refused = 0;
};

class WaitingPods {
  public:
    // Entries, so that pods that nobody counts fill no memory. Beyond, all are forgotten; each
    // comes back with its next refusal.
    static constexpr std::size_t kMost = 100'000;

    // No node took it; `now` is steady time.
    void note(const PodUid& pod, Obstacle obstacle, std::chrono::nanoseconds now);
    // A node took it.
    void forget(const PodUid& pod);
    // Of the pods that are pending. The others are forgotten, but for those of the last minute: our
    // watch may not have shown them yet.
    WaitingCounts count(const std::vector<PodUid>& pending, std::chrono::nanoseconds now);

  private:
    struct Entry {
        Obstacle obstacle = Obstacle::unknown_node;
        std::chrono::nanoseconds since{};
        std::chrono::nanoseconds last{};
    };
    std::mutex mutex_;
    std::unordered_map<PodUid, Entry> entries_;  // guarded by mutex_
};

}  // namespace tessera

// Nominations that were given up and are to be removed from the API: other replicas keep the GPUs
// reserved by them.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>

#include "app/common/worker_pool.hpp"
#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "ports/clock.hpp"
#include "ports/kube/nominations.hpp"

namespace tessera {

// Used by one thread. All that it is created with outlives it and the tasks of `writers`.
class Withdrawals {
  public:
    // A nomination that the watch has not shown after this time was never written. A removal that
    // it does not show after this time is sent again.
    static constexpr std::chrono::seconds kShown{10};

    Withdrawals(Nominations& nominations, ClusterCache& cache, Clock& clock,
                const WriteFence& fence, WorkerPool& writers)
        : nominations_(nominations),
          cache_(cache),
          clock_(clock),
          fence_(fence),
          writers_(writers) {}

    void add(const PodUid& uid, const PodName& pod, const NodeName& node);
    // Whether the pod's nomination to this node is still to be removed.
    [[nodiscard]] bool is_due(const PodUid& uid, const NodeName& node) const;
    // Sends the removals that are due, and forgets those that are done.
    void send(const std::stop_token& stop);

  private:
    using Time = std::chrono::nanoseconds;  // Clock::steady

    struct Withdrawal {
        PodName pod;
        NodeName node;
        Time until{};
        bool is_sent = false;
    };

    // The nomination ahead that the watch shows; empty if there is none. Nothing: none needs to be
    // removed any more.
    [[nodiscard]] std::optional<NodeName> shown(const PodUid& uid) const;

    Nominations& nominations_;
    ClusterCache& cache_;
    Clock& clock_;
    const WriteFence& fence_;
    WorkerPool& writers_;
    std::map<PodUid, Withdrawal> due_;
};

}  // namespace tessera

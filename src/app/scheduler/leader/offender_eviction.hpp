// Evicts pods that agents have named, because their programs took a GPU from all programs with
// NVIDIA MPS too often (Gpu::mps_offenders).
#pragma once

#include <chrono>
#include <map>
#include <stop_token>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "ports/clock.hpp"
#include "ports/kube/evictions.hpp"
#include "ports/kube/pod_events.hpp"

namespace tessera {

// All of it outlives its user.
struct OffenderEvictionPorts {
    Evictions& evictions;
    PodEvents& events;
    ClusterCache& cache;
    Clock& clock;
    WriteFence fence;
};

// An agent can only name pods that use MPS on its own node. Nothing is remembered that must
// survive: a new leader sees on the Nodes what is left to do. Use it from one thread only.
class OffenderEviction {
  public:
    static constexpr std::chrono::seconds kPeriod{2};
    // A pod that may not be evicted (a PodDisruptionBudget, an admission webhook, a missing right)
    // is tried again after this, and so is one that still runs.
    static constexpr std::chrono::seconds kAgain{30};

    explicit OffenderEviction(OffenderEvictionPorts ports) : ports_(std::move(ports)) {}

    void run_round(const std::stop_token& stop);

  private:
    void evict(const AssignedPod& pod, const GpuUuid& gpu);

    const OffenderEvictionPorts ports_;
    std::map<PodUid, std::chrono::nanoseconds> next_try_;
};

}  // namespace tessera

// Grants or refuses resize requests for running pods (docs/decisions/0013-live-limits.md). The
// leader reads each pod with an open request and decides on the current state. It reserves what
// grows, and replaces the old allocation by the new one. This is one write, on the very version of
// the pod that was read. A lost answer needs no special handling: the pod is read again, and its
// version says whether the write has happened, cannot happen any more, or may be repeated.
#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "app/scheduler/observe/metrics.hpp"
#include "ports/clock.hpp"
#include "ports/kube/pod_events.hpp"
#include "ports/kube/pod_resizes.hpp"
#include "wire/tessera/allocation_seal.hpp"

namespace tessera {

// All of it outlives its user.
struct ResizerTools {
    PodResizes& pods;
    PodEvents& events;
    ClusterCache& cache;
    SchedulerMetrics& metrics;
    Clock& clock;
    const AllocationSeal* seal = nullptr;  // null: allocations are not signed
    WriteFence fence;
};

// Use it from one thread only.
class Resizer {
  public:
    static constexpr std::chrono::milliseconds kPeriod{250};
    // Pause after the API server failed, or while the watch is behind: at first, and at most.
    static constexpr std::chrono::milliseconds kShortestRest{500};
    static constexpr std::chrono::seconds kLongestRest{30};

    explicit Resizer(ResizerTools tools) : tools_(std::move(tools)) {}

    // Handles every open request once.
    void run_round(const std::stop_token& stop = {});

  private:
    using Time = std::chrono::nanoseconds;

    // A pod whose request is open, or for which a write may be under way.
    struct Open {
        PodName name;
        std::string written_on;     // version of the pod that the last write was for; empty: none
        bool is_uncertain = false;  // that write may still happen, though a later one was refused
        Time rest_until{};
        std::chrono::milliseconds rest{};
    };
    enum class Turn {
        over,
        again,
        answered,  // handled until the watch has shown the answer
    };

    Result<Turn> look_after(const PodUid& uid, Open& open);
    Result<Turn> grant(Open& open, const PodResizes::Shown& pod, const ResizeDecision& decision);
    Result<Turn> refuse(const PodResizes::Shown& pod, const Error& reason);
    void tell(const PodInfo& pod, PodEventType type, const std::string& reason,
              const std::string& message);

    const ResizerTools tools_;
    std::map<PodUid, Open> open_;
};

}  // namespace tessera

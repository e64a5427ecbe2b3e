// Tells users of pods that wait for GPUs which of their annotations Tessera does not know.
// Otherwise a pod with "tessera.dev/gpu-model" would be placed on any GPU without a warning.
#pragma once

#include <chrono>
#include <map>

#include "app/scheduler/cache/cluster_cache.hpp"
#include "app/scheduler/leader/write_fence.hpp"
#include "ports/kube/pod_events.hpp"

namespace tessera {

// All of it outlives its user.
struct UnknownAnnotationReporterPorts {
    PodEvents& events;
    ClusterCache& cache;
    WriteFence fence;
};

// Creates an event for each pod, and one more whenever its unknown annotations change. Only the
// leader of several controllers does so. Its successor repeats the events of pods that are still
// there. Use it from one thread only.
class UnknownAnnotationReporter {
  public:
    static constexpr std::chrono::seconds kPeriod{1};

    explicit UnknownAnnotationReporter(UnknownAnnotationReporterPorts ports)
        : ports_(std::move(ports)) {}

    // If the API server is away, the next round tries again. An event that the server refuses (a
    // namespace that is being deleted) is not tried again.
    void run_round();

  private:
    const UnknownAnnotationReporterPorts ports_;
    std::map<PodUid, PodUnknownAnnotations> reported_;
};

}  // namespace tessera

// Tells the users of pods with NVIDIA MPS what happened to their GPU: a fatal error of a program
// ends the programs of all pods on it, and so does the end of MPS's own programs. The pod whose
// program had the error learns it, and the others only that it was of another pod.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "ports/clock.hpp"
#include "ports/kube/pod_events.hpp"
#include "ports/mps/mps_daemons.hpp"

namespace tessera {

// Used by one thread, except where it says otherwise.
class MpsWatch {
  public:
    static constexpr std::chrono::seconds kPeriod{1};
    // A daemon that does not serve for this long is reported.
    static constexpr int kFailedLooks = 15;
    // After a fatal error its server is ended, which is no other news.
    static constexpr std::chrono::seconds kAfterFault{15};

    // All outlive this. evict_after: pods with this many fatal errors on a GPU are offenders; 0:
    // none is.
    MpsWatch(MpsDaemons& daemons, const MpsGrants& started, PodEvents& events, Clock& clock,
             int evict_after = 0)
        : daemons_(daemons),
          started_(started),
          events_(events),
          clock_(clock),
          evict_after_(evict_after) {}

    // Looks at all GPUs once. What it reported is kept on the node, so that an agent that starts
    // again repeats nothing and leaves nothing out. Events that the API server does not take are
    // lost.
    void look();

    // The offenders on a GPU, as the last look found them, ascending. Any thread.
    [[nodiscard]] std::vector<PodUid> offenders(const GpuUuid& gpu) const;

  private:
    // A pod with a share of the GPU.
    struct Pod {
        PodUid uid;
        PodName name;
    };

    void look_at(const GpuUuid& gpu, const MpsState& state, std::span<const Pod> pods);
    // `count`: of the faults of the pod.
    void tell_fault(const GpuUuid& gpu, const MpsFault& fault, std::span<const Pod> pods,
                    int count);
    void tell_lost(const GpuUuid& gpu, std::span<const Pod> pods, const std::string& why);
    void tell_failing(const GpuUuid& gpu, const MpsState& state, std::span<const Pod> pods);
    void tell(const Pod& pod, const char* reason, std::string message);
    void note_offenders();

    MpsDaemons& daemons_;
    const MpsGrants& started_;
    PodEvents& events_;
    Clock& clock_;
    const int evict_after_;
    std::map<GpuUuid, MpsReported> reported_;  // as last read or written
    std::map<GpuUuid, int> failed_looks_;      // in a row
    mutable Mutex mutex_;
    std::map<GpuUuid, std::vector<PodUid>> offenders_ TESSERA_GUARDED_BY(mutex_);
};

}  // namespace tessera

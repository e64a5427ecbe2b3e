// Meters the GPU time of the node's pods: from the moment in which the watch shows that a pod has
// its allocation, until the pod is over. The pods' own processes have no part in it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/result.hpp"
#include "domain/cluster/node.hpp"
#include "domain/metering/usage_meter.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/metering/meter_clock.hpp"
#include "ports/metering/usage_spool.hpp"

namespace tessera {

class UsageMetering {
  public:
    static constexpr std::chrono::seconds kPeriod{5};  // in which look() is called

    // The GPUs that the agent knows. Any thread.
    using Gpus = std::function<std::vector<Gpu>()>;

    // All outlive this.
    UsageMetering(UsageSpool& spool, const MeterClock& clock, Gpus gpus)
        : spool_(spool), clock_(clock), gpus_(std::move(gpus)) {}

    // Goes on from where the last agent ended. Call it before the others.
    Result<> recover();
    // Takes what a watch of this node's pods showed. Any thread.
    void take(const PodChanges& changes);
    // Charges what passed. Any thread.
    void look();
    // The same before the agent ends: the next one knows until when all pods were there.
    void finish();

  private:
    void take(const PodInfo& pod) TESSERA_REQUIRES(mutex_);
    void observe() TESSERA_REQUIRES(mutex_);
    [[nodiscard]] bool is_new(const PodUid& uid, const MeteredPod& pod) const
        TESSERA_REQUIRES(mutex_);
    void write(bool is_changed) TESSERA_REQUIRES(mutex_);

    UsageSpool& spool_;
    const MeterClock& clock_;
    const Gpus gpus_;
    Mutex mutex_;
    UsageMeter meter_ TESSERA_GUARDED_BY(mutex_);
    struct Pod {
        PodName name;
        Allocation allocation;  // without containers: what an earlier agent knew counts
    };
    std::map<PodUid, Pod> pods_ TESSERA_GUARDED_BY(mutex_);  // that have GPUs, and are not over
    bool is_listed_ TESSERA_GUARDED_BY(mutex_) = false;      // the watch has shown all pods
    std::vector<UsageRecord> unwritten_ TESSERA_GUARDED_BY(mutex_);
    bool is_state_unwritten_ TESSERA_GUARDED_BY(mutex_) = false;
    std::string fault_ TESSERA_GUARDED_BY(mutex_);  // the last logged one, as long as it lasts
};

}  // namespace tessera

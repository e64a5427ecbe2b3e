// Removes what was made to enforce the shares of pods that are over. Those are the pods that the
// API server shows as finished or removed, and the pods that neither kubelet's record nor the API
// server knows (kubelet forgets a pod when it next allocates devices). Nothing is removed while a
// process of the pod uses it: the containers of a pod that was deleted by force, or lost from
// kubelet's record, may still run.
#pragma once

#include <chrono>
#include <set>

#include "base/mutex.hpp"
#include "ports/enforcer.hpp"
#include "ports/kube_api.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

class RegionGarbageCollector {
  public:
    static constexpr std::chrono::seconds kPeriod{10};

    // Both outlive this.
    RegionGarbageCollector(Enforcer& shares, DeviceHolders& record)
        : shares_(shares), record_(record) {}

    // Takes what a watch of this node's pods showed. Any thread.
    void take(const PodChanges& changes);
    // Removes the regions of containers that are gone. Call it from one thread only.
    void collect();

  private:
    void forget_unused(const std::set<PodUid>& pods);
    void forget_the_forgotten();
    void forget_the_over();

    Enforcer& shares_;
    DeviceHolders& record_;

    Mutex mutex_;
    std::set<PodUid> seen_ TESSERA_GUARDED_BY(mutex_);  // shown by the watch, and not over
    std::set<PodUid> over_ TESSERA_GUARDED_BY(mutex_);
    // The watch has shown all pods at least once.
    bool listed_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera

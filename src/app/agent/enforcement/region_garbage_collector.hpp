// Recovers what earlier agents prepared to enforce shares, and removes what was prepared for pods
// that are over. Those are the pods that the API server shows as finished or deleted, and the pods
// that neither kubelet's record nor the API server knows (kubelet forgets a pod when it next
// allocates devices). Nothing is removed while a process of the pod uses it: the containers of a
// pod that was deleted by force, or lost from kubelet's record, may still run.
#pragma once

#include <chrono>
#include <set>
#include <utility>

#include "app/agent/enforcement/enforcers.hpp"
#include "base/mutex.hpp"
#include "ports/kube/kube_api.hpp"
#include "ports/kubelet.hpp"

namespace tessera {

class RegionGarbageCollector {
  public:
    static constexpr std::chrono::seconds kPeriod{10};
    // Until it has recovered: limits may be missing.
    static constexpr std::chrono::seconds kFirstPeriod{1};

    // `record` outlives this.
    RegionGarbageCollector(Enforcers enforcers, DeviceHolders& record)
        : enforcers_(std::move(enforcers)), record_(record) {}

    // Takes what a watch of this node's pods showed. Any thread.
    void take(const PodChanges& changes);
    // Cleans up after containers that are gone. The first call that knows the node's pods also
    // calls recover(). Returns when to call it again. Call it from one thread only.
    std::chrono::seconds collect();

  private:
    void recover_once(const std::set<PodUid>& kept, std::set<PodUid> known);
    void clean_up_unused(const std::set<PodUid>& pods);
    void clean_up_unknown();
    void clean_up_over();

    const Enforcers enforcers_;
    DeviceHolders& record_;
    bool has_recovered_ = false;  // of collect()'s thread

    Mutex mutex_;
    std::set<PodUid> seen_ TESSERA_GUARDED_BY(mutex_);  // shown by the watch, and not over
    std::set<PodUid> over_ TESSERA_GUARDED_BY(mutex_);
    // The watch has shown all pods at least once.
    bool listed_ TESSERA_GUARDED_BY(mutex_) = false;
};

}  // namespace tessera

#include "app/agent/enforcement/region_garbage_collector.hpp"

#include <iterator>

namespace tessera {

// A pod that the watch never showed is not known to be over: a container may be created before the
// watch shows its pod.
void RegionGarbageCollector::take(const PodChanges& changes) {
    const MutexLock lock(mutex_);
    const auto note_over = [this](const PodUid& pod) TESSERA_REQUIRES(mutex_) {
        seen_.erase(pod);
        over_.insert(pod);
    };
    for (const PodUid& pod : changes.removed)
        note_over(pod);
    for (const PodInfo& pod : changes.present) {
        if (pod.finished) {
            note_over(pod.uid);
        } else {
            over_.erase(pod.uid);
            seen_.insert(pod.uid);
        }
    }
    if (!changes.all) return;
    listed_ = true;
    for (auto at = seen_.begin(); at != seen_.end();) {
        const auto next = std::next(at);
        if (!changes.all->contains(*at)) over_.insert(seen_.extract(at));
        at = next;
    }
}

void RegionGarbageCollector::forget_unused(const std::set<PodUid>& pods) {
    for (const PodUid& pod : pods)
        if (!shares_.is_in_use(pod)) shares_.forget(pod);
}

// Kubelet writes a pod into its record before the runtime creates the containers, so the kept
// shares are listed before the record is read. It is not enough that a pod is missing from the
// record. Kubelet starts with an empty record after its checkpoint was damaged, and running pods
// are then missing from it. So the API server must have listed the node's pods without this pod,
// and none of the pod's processes may live. Until the first list, no pod is known to be gone.
void RegionGarbageCollector::forget_the_forgotten() {
    std::set<PodUid> gone = shares_.pods();
    const auto holders = record_.list();
    if (!holders || holders->empty()) return;
    for (const DeviceHolder& holder : *holders)
        gone.erase(holder.pod);
    {
        const MutexLock lock(mutex_);
        if (!listed_) return;
        std::erase_if(
            gone, [&](const PodUid& pod) TESSERA_REQUIRES(mutex_) { return seen_.contains(pod); });
    }
    forget_unused(gone);
}

void RegionGarbageCollector::forget_the_over() {
    const std::set<PodUid> kept = shares_.pods();
    std::set<PodUid> over;
    {
        const MutexLock lock(mutex_);
        std::erase_if(over_, [&](const PodUid& pod) { return !kept.contains(pod); });
        over = over_;
    }
    forget_unused(over);
}

void RegionGarbageCollector::collect() {
    forget_the_forgotten();
    forget_the_over();
}

}  // namespace tessera

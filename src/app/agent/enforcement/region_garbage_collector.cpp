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
    for (const PodUid& pod : changes.deleted)
        note_over(pod);
    for (const PodInfo& pod : changes.upserted) {
        if (pod.finished) {
            note_over(pod.uid);
        } else {
            over_.erase(pod.uid);
            seen_.insert(pod.uid);
        }
    }
    if (!changes.listed) return;
    listed_ = true;
    for (auto at = seen_.begin(); at != seen_.end();) {
        const auto next = std::next(at);
        if (!changes.listed->contains(*at)) over_.insert(seen_.extract(at));
        at = next;
    }
}

// At the start of the agent: the pods that kubelet's record or the API server has, and of what the
// enforcers keep the rest.
void RegionGarbageCollector::recover_once(const std::set<PodUid>& kept, std::set<PodUid> known) {
    if (std::exchange(has_recovered_, true)) return;
    {
        const MutexLock lock(mutex_);
        std::erase_if(
            known, [&](const PodUid& pod) TESSERA_REQUIRES(mutex_) { return over_.contains(pod); });
    }
    std::set<PodUid> orphans = kept;
    std::erase_if(orphans, [&](const PodUid& pod) { return known.contains(pod); });
    enforcers_.recover(known, orphans);
}

void RegionGarbageCollector::clean_up_unused(const std::set<PodUid>& pods) {
    for (const PodUid& pod : pods)
        if (!enforcers_.is_in_use(pod)) enforcers_.cleanup(pod);
}

// Kubelet writes a pod into its record before the runtime creates the containers, so the kept
// shares are listed before the record is read. It is not enough that a pod is missing from the
// record. Kubelet starts with an empty record after its checkpoint was damaged, and running pods
// are then missing from it. So the API server must have listed the node's pods without this pod,
// and none of the pod's processes may live. Until the first list, no pod is known to be gone.
void RegionGarbageCollector::clean_up_unknown() {
    const std::set<PodUid> kept = enforcers_.pods();
    const auto record = record_.list();
    if (!record) return;
    std::set<PodUid> known;
    for (const DeviceHolder& holder : *record)
        known.insert(holder.pod);
    {
        const MutexLock lock(mutex_);
        if (!listed_) return;
        known.insert(seen_.begin(), seen_.end());
    }
    recover_once(kept, known);
    if (record->empty()) return;
    std::set<PodUid> unknown = kept;
    std::erase_if(unknown, [&](const PodUid& pod) { return known.contains(pod); });
    clean_up_unused(unknown);
}

void RegionGarbageCollector::clean_up_over() {
    const std::set<PodUid> kept = enforcers_.pods();
    std::set<PodUid> over;
    {
        const MutexLock lock(mutex_);
        std::erase_if(over_, [&](const PodUid& pod) { return !kept.contains(pod); });
        over = over_;
    }
    clean_up_unused(over);
}

std::chrono::seconds RegionGarbageCollector::collect() {
    clean_up_unknown();
    clean_up_over();
    return has_recovered_ ? kPeriod : kFirstPeriod;
}

}  // namespace tessera

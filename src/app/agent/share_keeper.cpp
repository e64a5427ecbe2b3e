#include "app/agent/share_keeper.hpp"

#include <iterator>

namespace tessera {

// What was never seen is not known to be over: a container may be made before the watch shows its
// pod.
void ShareKeeper::take(const PodChanges& changes) {
    const std::scoped_lock lock(mutex_);
    const auto note_over = [this](const PodUid& pod) {
        seen_.erase(pod);
        over_.insert(pod);
    };
    for (const PodUid& pod : changes.removed)
        note_over(pod);
    for (const PodFacts& pod : changes.present) {
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

void ShareKeeper::forget_unused(const std::set<PodUid>& pods) {
    for (const PodUid& pod : pods)
        if (!shares_.is_in_use(pod)) shares_.forget(pod);
}

// Kubelet has written a pod down before the runtime asks for its containers; so what is kept is
// listed before the record is read. That a pod is missing from the record is not enough: kubelet
// starts with an empty record after its checkpoint was damaged, and the pods that run are then
// missing from it. So the API server must have listed the node's pods without it, and none of its
// processes may live. Until the first list nothing is known to be gone.
void ShareKeeper::forget_the_forgotten() {
    std::set<PodUid> gone = shares_.pods();
    const auto holders = record_.list();
    if (!holders || holders->empty()) return;
    for (const DeviceHolder& holder : *holders)
        gone.erase(holder.pod);
    {
        const std::scoped_lock lock(mutex_);
        if (!listed_) return;
        std::erase_if(gone, [&](const PodUid& pod) { return seen_.contains(pod); });
    }
    forget_unused(gone);
}

void ShareKeeper::forget_the_over() {
    const std::set<PodUid> kept = shares_.pods();
    std::set<PodUid> over;
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(over_, [&](const PodUid& pod) { return !kept.contains(pod); });
        over = over_;
    }
    forget_unused(over);
}

void ShareKeeper::run(Clock& clock, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        forget_the_forgotten();
        forget_the_over();
        clock.sleep_for(kForget, stop);
    }
}

}  // namespace tessera

#include "app/agent/enforcement/limit_reconciler.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "app/agent/enforcement/enforced_shares.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// Container names become names of folders, so each must be one that the API server has checked.
bool has_all(const PodInfo& pod, const Allocation& allocation) {
    return std::ranges::all_of(allocation.containers, [&](const ContainerAllocation& container) {
        return std::ranges::find(pod.containers, container.container, &ContainerSpec::name) !=
               pod.containers.end();
    });
}

}  // namespace

void LimitReconciler::take(const PodChanges& changes) {
    const MutexLock lock(mutex_);
    for (const PodUid& uid : changes.deleted) {
        resized_.erase(uid);
        said_.erase(uid);
    }
    for (const PodInfo& pod : changes.upserted) {
        const Allocation* own = own_allocation(pod);
        if (pod.finished) {
            resized_.erase(pod.uid);
            said_.erase(pod.uid);
        } else if (own != nullptr && own->node == node_ && own->revision > 0 &&
                   has_all(pod, *own)) {
            const auto [at, is_new] = resized_.try_emplace(pod.uid, *own);
            if (at->second.revision < own->revision) at->second = *own;
        }
    }
    if (changes.listed) {
        const auto is_gone = [&](const auto& of) { return !changes.listed->contains(of.first); };
        std::erase_if(resized_, is_gone);
        std::erase_if(said_, is_gone);
    }
    has_changed_ = true;
    changed_.notify_all();
}

void LimitReconciler::apply() {
    std::vector<Allocation> now;
    {
        const MutexLock lock(mutex_);
        has_changed_ = false;
        for (const auto& [uid, allocation] : resized_)
            now.push_back(allocation);
    }
    for (const Allocation& allocation : now)
        apply(allocation);
}

void LimitReconciler::apply(const Allocation& shown) {
    // Keeps the allocation first: otherwise the container's next start would undo the new limits.
    const auto newest = keep(shown);
    if (!newest) return report(shown.pod, newest.error());
    bool has_changed = false;
    for (const ContainerAllocation& container : newest->containers) {
        if (!has_share(container)) continue;
        const auto changed =
            enforcers_.update(newest->pod, container.container, enforced_shares(container));
        if (!changed) report(newest->pod, changed.error());
        has_changed |= changed && *changed;
    }
    if (!has_changed) return;
    {
        const MutexLock lock(mutex_);
        said_.erase(newest->pod);
    }
    log_event(Event::limits_changed, {{"pod", newest->pod.str()}, {"revision", newest->revision}});
}

// Returns the newer one of both, and keeps it on the node. A kept allocation that cannot be read is
// replaced. The revisions are compared because a user who may edit the pod can put back an older
// allocation that the controller signed. If the admission policy is not installed, only this check
// prevents that.
Result<Allocation> LimitReconciler::keep(const Allocation& shown) {
    const auto kept = kept_.kept(shown.pod);
    if (kept && *kept && (*kept)->revision >= shown.revision) return **kept;
    TRY_VOID(kept_.keep(shown));
    return shown;
}

// Logs a lasting error once, not every two seconds.
void LimitReconciler::report(const PodUid& pod, const Error& error) {
    const MutexLock lock(mutex_);
    std::string& said = said_[pod];
    if (std::exchange(said, error.text) == error.text) return;
    log_event(Event::limits_error, {{"pod", pod.str()}, {"reason", error.text}});
}

void LimitReconciler::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        apply();
        MutexLock lock(mutex_);
        changed_.wait_for(lock, stop, kApply,
                          [this]() TESSERA_REQUIRES(mutex_) { return has_changed_; });
    }
}

}  // namespace tessera

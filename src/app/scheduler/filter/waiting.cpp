#include "app/scheduler/filter/waiting.hpp"

#include <algorithm>
#include <unordered_set>

namespace tessera {

void WaitingPods::note(const PodUid& pod, UnschedulableReason reason,
                       std::chrono::nanoseconds now) {
    const MutexLock lock(mutex_);
    if (entries_.size() >= kMost && !entries_.contains(pod)) entries_.clear();
    Entry& entry = entries_.try_emplace(pod, Entry{.since = now}).first->second;
    entry.reason = reason;
    entry.last = now;
}

void WaitingPods::forget(const PodUid& pod) {
    const MutexLock lock(mutex_);
    entries_.erase(pod);
}

WaitingCounts WaitingPods::count(const std::vector<PodUid>& pending, std::chrono::nanoseconds now) {
    constexpr std::chrono::minutes kWatchBehind{1};
    const std::unordered_set<PodUid> there(pending.begin(), pending.end());
    WaitingCounts out;
    const MutexLock lock(mutex_);
    std::erase_if(entries_, [&](const auto& item) {
        return !there.contains(item.first) && now - item.second.last > kWatchBehind;
    });
    for (const PodUid& pod : pending) {
        const auto at = entries_.find(pod);
        if (at == entries_.end()) {
            ++out.not_refused;
            continue;
        }
        auto& of = out.by_reason.at(static_cast<std::size_t>(at->second.reason));
        ++of.pods;
        of.longest = std::max(of.longest, now - at->second.since);
    }
    return out;
}

}  // namespace tessera

// ClusterState's part for the order in which kube-scheduler takes the pending pods.
#include <algorithm>
#include <utility>

#include "domain/scheduling/state.hpp"

namespace tessera {
namespace {

// Of one call of queue(), which keeps the owner of the state from other work: some milliseconds.
constexpr std::size_t kMostLookedAt = 16'384;

}  // namespace

bool ClusterState::is_queued(const PendingPod& pod) {
    return !pod.is_offered && pod.request && pod.scheduling && !pod.scheduling->has_others &&
           !(*pod.request)->gang && !rules_of((*pod.request)->containers).affinity;
}

ClusterState::QueuePlace ClusterState::place_of(const PendingPod& pod) {
    const PodRequest& request = **pod.request;
    return {request.priority, pod.queued_since, pod.queue_number, request.uid};
}

std::vector<QueuedPod> ClusterState::queue(
    const std::string& scheduler, std::size_t skip, std::size_t most,
    const std::function<bool(const PodUid&)>& is_left_out) const {
    std::vector<QueuedPod> out;
    const auto queue = queues_.find(scheduler);
    if (queue == queues_.end() || queue->second.size() <= skip) return out;
    std::size_t seen = 0;
    std::size_t looked_at = 0;
    for (const QueuePlace& place : queue->second) {
        if (++looked_at > kMostLookedAt) break;
        if (is_left_out(place.uid)) continue;
        if (seen++ < skip) continue;
        if (seen > skip + most) break;
        const PendingPod& pod = pending_.at(place.uid);
        if (pod.reserved_on().empty() && pod.nominated.empty())
            out.push_back({*pod.request, pod.scheduling});
    }
    return out;
}

void ClusterState::requeue(const PodUid& uid, const std::function<void(PendingPod&)>& change) {
    const auto at = pending_.find(uid);
    if (at == pending_.end()) return;
    PendingPod& pod = at->second;
    if (is_queued(pod)) queues_[pod.scheduling->scheduler].erase(place_of(pod));
    change(pod);
    if (is_queued(pod)) queues_[pod.scheduling->scheduler].insert(place_of(pod));
}

void ClusterState::note_offered(const PodUid& uid) {
    requeue(uid, [](PendingPod& pod) { pod.is_offered = true; });
}

void ClusterState::note_refused(const PodUid& uid, const std::string& now) {
    requeue(uid, [&](PendingPod& pod) {
        pod.is_offered = false;
        pod.queued_since = std::max(pod.queued_since, now);
        pod.queue_number = ++queue_numbers_;
    });
}

std::map<PodUid, ReservedPod> ClusterState::reserved_pods() const {
    std::map<PodUid, ReservedPod> out;
    for (const PodUid& uid : reserved_pods_) {
        const PendingPod& pod = pending_.at(uid);
        out.emplace(
            uid, ReservedPod{
                     .name = (*pod.request)->name,
                     .scheduler = pod.scheduling ? pod.scheduling->scheduler : "",
                     .priority = (*pod.request)->priority,
                     .node = pod.reserved_on(),
                     .is_ahead = pod.is_nominated_ahead(),
                     .reserved_by =
                         pod.reserved_node.empty() ? std::nullopt : std::optional(pod.reserved_by),
                 });
    }
    return out;
}

}  // namespace tessera

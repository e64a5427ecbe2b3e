// What the cluster's state knows of pods that wait: room that is kept for them, and their gangs.
#include <algorithm>
#include <utility>

#include "domain/cluster/state.hpp"

namespace tessera {

bool ClusterState::promise(const PodUid& uid, const NodeName& node, std::vector<PodUid> victims) {
    const PendingPod* now = pending(uid);
    if (now == nullptr || !now->ask) return false;
    PendingPod pod = *end_pending(uid);
    if (pod.kept_on() != node) pod.kept_turn = 0;
    pod.promised = node;
    pod.victims = std::move(victims);
    if (pod.given_up == node) pod.given_up = {};
    add_pending(uid, std::move(pod));
    return true;
}

void ClusterState::give_up(const PodUid& uid) {
    const auto forget = [](PendingPod& pod) {
        pod.given_up = pod.nominated;
        pod.promised = {};
        pod.victims.clear();
    };
    if (const auto aside = set_aside_.find(uid); aside != set_aside_.end()) forget(aside->second);
    auto pod = end_pending(uid);
    if (!pod) return;
    forget(*pod);
    add_pending(uid, *std::move(pod));
}

GangNow ClusterState::gang(const GangId& gang) const {
    GangNow now;
    for (const PodUid& uid : gangs_.pods(gang)) {
        if (tenants_.contains(uid)) ++now.placed;
        const PendingPod* waits = pending(uid);
        if (waits != nullptr && waits->ask) now.waiting.push_back(*waits->ask);
    }
    std::ranges::sort(now.waiting, {}, [](const PodAskPtr& pod) { return pod->name; });
    return now;
}

std::optional<int> ClusterState::gang_size(const PodAsk& pod) const {
    if (!pod.gang) return 0;
    if (pod.gang->size > 0) return pod.gang->size;
    const auto group = pod_groups_.find({pod.name.space, pod.gang->gang});
    return group == pod_groups_.end() ? std::nullopt : std::optional(group->second);
}

std::optional<NodeView> ClusterState::promised_node(const PodUid& uid) const {
    const PendingPod* pod = pending(uid);
    if (pod == nullptr || pod->promised.empty()) return std::nullopt;
    const auto at = nodes_.find(pod->promised);
    if (at == nodes_.end() || !at->second.known) return std::nullopt;
    return build(at->second, uid);
}

}  // namespace tessera

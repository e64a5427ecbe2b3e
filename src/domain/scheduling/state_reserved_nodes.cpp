// ClusterState's part for pending pods: their reservations and their gangs.
#include <algorithm>
#include <utility>

#include "domain/scheduling/state.hpp"

namespace tessera {
namespace {

void forget_reservation(PendingPod& pod) {
    pod.reserved_node = {};
    pod.victims.clear();
}

}  // namespace

bool ClusterState::reserve_node(const PodUid& uid, const NodeName& node, ReservedBy by,
                                std::vector<PodUid> victims) {
    const PendingPod* now = pending(uid);
    if (now == nullptr || !now->request) return false;
    PendingPod pod = *end_pending(uid);
    if (pod.reserved_on() != node) pod.reservation_order = 0;
    pod.reserved_node = node;
    pod.reserved_by = by;
    pod.victims = std::move(victims);
    if (pod.given_up == node) pod.given_up = {};
    add_pending(uid, std::move(pod));
    return true;
}

void ClusterState::give_up(const PodUid& uid) {
    const auto forget = [](PendingPod& pod) {
        pod.given_up = pod.nominated;
        forget_reservation(pod);
    };
    if (const auto bound = being_bound_.find(uid); bound != being_bound_.end())
        forget(bound->second);
    auto pod = end_pending(uid);
    if (!pod) return;
    forget(*pod);
    add_pending(uid, *std::move(pod));
}

void ClusterState::end_reservations(ReservedBy by) {
    const auto is_one = [by](const PendingPod& pod) {
        return !pod.reserved_node.empty() && pod.reserved_by == by;
    };
    for (auto& [uid, pod] : being_bound_) {
        if (is_one(pod)) forget_reservation(pod);
    }
    for (const PodUid& uid : std::set<PodUid>(reserved_pods_)) {
        if (!is_one(pending_.at(uid))) continue;
        PendingPod pod = *end_pending(uid);
        forget_reservation(pod);
        add_pending(uid, std::move(pod));
    }
}

GangNow ClusterState::gang(const GangId& gang) const {
    GangNow now;
    for (const auto& [uid, member] : gangs_.pods(gang)) {
        const PendingPod* waits = pending(uid);
        if (member.size > 0) now.sizes.insert(member.size);
        if (assigned_pods_.contains(uid)) {
            ++now.placed;
        } else if (waits == nullptr) {
            if (!member.not_counted_because.empty())
                now.not_counted.push_back({member.name, member.not_counted_because});
        } else if (waits->request) {
            now.waiting.push_back(*waits->request);
        } else {
            now.not_counted.push_back({member.name, waits->request.error().text});
        }
    }
    std::ranges::sort(now.waiting, {}, [](const PodRequestPtr& pod) { return pod->name; });
    std::ranges::sort(now.not_counted, {}, &GangNow::NotCounted::name);
    return now;
}

void ClusterState::note_gang(const PodInfo& pod) {
    if (!pod.gang) return;
    GangMember member{.name = pod.name.name, .size = *pod.gang ? (*pod.gang)->size : 0};
    if (pod.terminating) {
        member.not_counted_because = "it is terminating";
    } else if (pod.gated) {
        member.not_counted_because = "it has scheduling gates";
    }
    const std::string& name = *pod.gang ? (*pod.gang)->gang : pod.gang_named;
    gangs_.set({pod.name.ns, name}, pod.uid, std::move(member));
}

std::optional<int> ClusterState::gang_size(const PodRequest& pod) const {
    if (!pod.gang) return 0;
    if (pod.gang->size > 0) return pod.gang->size;
    const auto group = pod_groups_.find({pod.name.ns, pod.gang->gang});
    return group == pod_groups_.end() ? std::nullopt : std::optional(group->second);
}

std::optional<NodeInfo> ClusterState::reserved_node(const PodUid& uid) const {
    const PendingPod* pod = pending(uid);
    if (pod == nullptr || pod->reserved_node.empty()) return std::nullopt;
    const auto at = nodes_.find(pod->reserved_node);
    if (at == nodes_.end() || !at->second.known) return std::nullopt;
    return build(at->second, uid);
}

}  // namespace tessera

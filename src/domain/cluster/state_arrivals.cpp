// What the cluster's state knows for those who judge placements: who came, who moved, who slipped,
// and what pods take of their nodes beside the cards.
#include <algorithm>
#include <utility>

#include "domain/cluster/state.hpp"
#include "domain/placement/engine_terms.hpp"

namespace tessera {

void ClusterState::note_arrival(const std::string& created, const PodAsk& pod) {
    // Nobody may be there to take them.
    if (arrivals_.pods.size() >= 2 * kMostArrivals)
        arrivals_.pods.erase(arrivals_.pods.begin(), arrivals_.pods.end() - kMostArrivals);
    arrivals_.pods.push_back({created, pod});
}

Arrivals ClusterState::take_arrivals() {
    // At the start they are the pods of the whole cluster: moved, since the owner's thread does it.
    return {.pods = std::exchange(arrivals_.pods, {}),
            .placed_milli = arrivals_.placed_milli,
            .released_milli = arrivals_.released_milli};
}

void ClusterState::note_slips(const PodFacts& pod) {
    if (pod.slips.empty()) {
        slips_.erase(pod.uid);
    } else if (pod.node.empty() || slips_.contains(pod.uid)) {
        slips_.insert_or_assign(pod.uid, PodSlips{pod.name, pod.slips});
    }
}

void ClusterState::note_host(const PodUid& pod, const NodeName& node, const HostAsk& ask) {
    if (!host_.set(pod, node, ask)) return;
    if (const auto at = nodes_.find(node); at != nodes_.end() && !at->second.inventory.gpus.empty())
        refresh(node);
}

void ClusterState::forget_host(const PodUid& pod) {
    const NodeName node = host_.remove(pod);
    if (const auto at = nodes_.find(node); at != nodes_.end() && !at->second.inventory.gpus.empty())
        refresh(node);
}

std::int64_t ClusterState::milli_of(const Tenant& tenant) const {
    const auto node = nodes_.find(tenant.allocation.node);
    if (node == nodes_.end()) return 0;
    std::int64_t sum = 0;
    for (const Hold& hold : tenant.holds) {
        const Gpu* gpu = find_gpu(node->second.inventory.gpus, hold.uuid);
        if (gpu != nullptr) sum += tessera::milli_of(hold.memory, hold.cores, gpu->capacity());
    }
    return sum;
}

}  // namespace tessera

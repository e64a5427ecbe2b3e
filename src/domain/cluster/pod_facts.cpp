#include "domain/cluster/pod_facts.hpp"

namespace tessera {

bool asks_for_gpus(const PodFacts& pod) {
    const auto request = parse_pod_request(pod.containers);
    return !request || !request->empty();
}

const Allocation* own_allocation(const PodFacts& pod) {
    if (!pod.allocation || !pod.allocation->has_value()) return nullptr;
    const Allocation& allocation = **pod.allocation;
    return allocation.pod == pod.uid && allocation.node == pod.node ? &allocation : nullptr;
}

bool is_gpushares(const PodFacts& pod, InventorySource served_by) {
    if (!pod.legacy || own_allocation(pod) != nullptr) return false;
    return served_by == InventorySource::legacy || (!pod.allocation && pod.started);
}

}  // namespace tessera

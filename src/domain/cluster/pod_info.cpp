#include "domain/cluster/pod_info.hpp"

namespace tessera {

bool asks_for_gpus(const PodInfo& pod) {
    return !pod.request || !pod.request->empty();
}

const Allocation* own_allocation(const PodInfo& pod) {
    if (!pod.allocation || !pod.allocation->has_value()) return nullptr;
    const Allocation& allocation = **pod.allocation;
    return allocation.pod == pod.uid && allocation.node == pod.node ? &allocation : nullptr;
}

bool is_legacy(const PodInfo& pod, InventorySource served_by) {
    if (!pod.legacy || own_allocation(pod) != nullptr) return false;
    return served_by == InventorySource::legacy || (!pod.allocation && pod.started);
}

}  // namespace tessera

// ClusterState's part for other components: new pods, totals of allocated GPUs, unknown
// annotations, and the CPU and memory that pods take of their nodes.
#include <algorithm>
#include <utility>

#include "domain/placement/engine_terms.hpp"
#include "domain/scheduling/state.hpp"

namespace tessera {

void ClusterState::note_arrival(const std::string& created, const PodRequest& pod) {
    // There may be no component that takes them.
    if (arrivals_.pods.size() >= 2 * kMostArrivals)
        arrivals_.pods.erase(arrivals_.pods.begin(), arrivals_.pods.end() - kMostArrivals);
    arrivals_.pods.push_back({created, pod});
}

Arrivals ClusterState::take_arrivals() {
    // At the start these are all pods of the cluster. They are moved, because this blocks the
    // owner's thread.
    return {.pods = std::exchange(arrivals_.pods, {}),
            .allocated_milli = arrivals_.allocated_milli,
            .released_milli = arrivals_.released_milli};
}

void ClusterState::note_unknown_annotations(const PodInfo& pod) {
    if (pod.unknown_annotations.empty()) {
        unknown_annotations_.erase(pod.uid);
    } else if (pod.node.empty() || unknown_annotations_.contains(pod.uid)) {
        unknown_annotations_.insert_or_assign(
            pod.uid, PodUnknownAnnotations{pod.name, pod.unknown_annotations});
    }
}

void ClusterState::note_host(const PodUid& pod, const NodeName& node, const HostRequest& request) {
    if (!host_.set(pod, node, request)) return;
    if (const auto at = nodes_.find(node); at != nodes_.end() && !at->second.inventory.gpus.empty())
        refresh(node);
}

void ClusterState::forget_host(const PodUid& pod) {
    const NodeName node = host_.remove(pod);
    if (const auto at = nodes_.find(node); at != nodes_.end() && !at->second.inventory.gpus.empty())
        refresh(node);
}

std::int64_t ClusterState::milli_of(const AssignedPod& assigned_pod) const {
    const auto node = nodes_.find(assigned_pod.allocation.node);
    if (node == nodes_.end()) return 0;
    std::int64_t sum = 0;
    for (const GpuAllocation& on_gpu : assigned_pod.allocated) {
        const Gpu* gpu = find_gpu(node->second.inventory.gpus, on_gpu.uuid);
        if (gpu != nullptr) sum += tessera::milli_of(on_gpu.memory, on_gpu.cores, gpu->capacity());
    }
    return sum;
}

}  // namespace tessera

#include "domain/placement/nominees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace tessera {
namespace {

// The nominees that come before the pod, and perhaps some ahead of their turn that do not. The list
// is ordered, and a nominee comes before those after it. Without this order, two equal nominees
// would exclude each other, and neither would get the GPUs.
std::span<const Nominee> first_of(const NodeInfo& node, const PodToPlace& pod) {
    const auto end = std::ranges::find_if(node.nominees, [&](const Nominee& nominee) {
        return nominee.pod->priority < pod.priority || nominee.pod->uid == pod.uid;
    });
    return {node.nominees.begin(), end};
}

// Of a nominee in first_of(). If the pod is a nominee, too, only their order counts.
bool comes_before(const Nominee& nominee, const PodToPlace& pod, bool is_nominee) {
    return is_nominee || !nominee.is_ahead || pod.created.empty() ||
           nominee.pod->priority > pod.priority || nominee.pod->created < pod.created;
}

std::vector<PodRequestPtr> before(const NodeInfo& node, const PodToPlace& pod) {
    const auto first = first_of(node, pod);
    const bool is_nominee =
        first.size() < node.nominees.size() && node.nominees[first.size()].pod->uid == pod.uid;
    std::vector<PodRequestPtr> out;
    for (const Nominee& nominee : first) {
        if (comes_before(nominee, pod, is_nominee)) out.push_back(nominee.pod);
    }
    return out;
}

// If the pod fits, adds it to `gpus` and returns true.
bool take_room(const NodeInfo& node, const PodRequest& pod, std::vector<GpuState>& gpus) {
    const RoomLeft room(gpus);
    Placer placer(pod.containers);
    const Assignment* assignment = placer.try_node(room.node_gpus(node));
    if (assignment == nullptr) return false;
    AssignedPod there;
    there.allocated = allocated_by_gpu(
        containers_of(pod.containers, *assignment, node.inventory.gpus, node.inventory.unit));
    there.groups = rules_of(pod.containers).groups();
    count_allocated(there, node.inventory.gpus, gpus, 1);
    return true;
}

}  // namespace

RoomLeft::RoomLeft(std::vector<GpuState> gpus) : gpus_(std::move(gpus)), free_(free_of(gpus_)) {}

NodeGpus RoomLeft::node_gpus(const NodeInfo& node) const {
    NodeGpus node_gpus = node.node_gpus();
    node_gpus.states = gpus_;
    node_gpus.free = free_;
    return node_gpus;
}

void count_nominees(const NodeInfo& node, const PodToPlace& pod, std::vector<GpuState>& gpus) {
    for (const PodRequestPtr& nominee : before(node, pod))
        take_room(node, *nominee, gpus);
}

std::size_t room_behind(const NodeInfo& node, const PodToPlace& pod,
                        const std::vector<ContainerAllocation>& taken, std::vector<GpuState> gpus) {
    AssignedPod there;
    there.allocated = allocated_by_gpu(taken);
    count_allocated(there, node.inventory.gpus, gpus, 1);
    std::size_t count = 0;
    for (const Nominee& nominee : std::span(node.nominees).subspan(first_of(node, pod).size())) {
        if (nominee.pod->uid != pod.uid) count += take_room(node, *nominee.pod, gpus) ? 1 : 0;
    }
    return count;
}

std::vector<GpuState> gpus_left(const NodeInfo& node, const PodToPlace& pod) {
    std::vector<GpuState> gpus = node.gpus;
    if (before(node, pod).empty()) return gpus;
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
        if (assigned_pod->terminating)
            count_allocated(*assigned_pod, node.inventory.gpus, gpus, -1);
    }
    count_nominees(node, pod, gpus);
    // A terminating pod still has its GPUs.
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        GpuState& gpu = gpus[i];
        const GpuState& now = node.gpus[i];
        gpu.allocated = std::max(gpu.allocated, now.allocated);
        gpu.allocated_cores = std::max(gpu.allocated_cores, now.allocated_cores);
        const int others = std::max(gpu.pods - gpu.mps_pods, now.pods - now.mps_pods);
        gpu.mps_pods = std::max(gpu.mps_pods, now.mps_pods);
        gpu.pods = others + gpu.mps_pods;
        for (const GpuGroup group : now.groups) {
            if (std::ranges::find(gpu.groups, group) == gpu.groups.end())
                gpu.groups.push_back(group);
        }
    }
    return gpus;
}

const Assignment* try_left(Placer& placer, const NodeInfo& node, const PodToPlace& pod) {
    if (before(node, pod).empty()) return placer.try_node(node.node_gpus());
    return placer.try_node(RoomLeft(gpus_left(node, pod)).node_gpus(node));
}

std::string reserved_for(const NodeInfo& node, const PodToPlace& pod, const Reader& reader) {
    const auto nominees = before(node, pod);
    if (nominees.empty()) return "GPUs of this node are reserved for another pod";
    const PodRequest& first = *nominees.front();
    return fmt::format(
        "GPUs of this node are reserved for {}{}", reader.words_for(first.name),
        reader.sees(first.name) ? fmt::format(" of priority {}", first.priority) : "");
}

std::string blocked_for(const NodeInfo& node, const Reader& reader) {
    const bool is_named = node.blocked_by && reader.sees(node.blocked_by->pod);
    return is_named ? node.blocked_by->why : node.blocked;
}

}  // namespace tessera

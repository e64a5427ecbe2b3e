#include "simulator/live/simulated_gpus.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "domain/placement/place.hpp"

namespace tessera {

SimulatedGpus::SimulatedGpus(const std::vector<NodeInfo>& nodes) {
    std::vector<NodeHardware> hardware;
    hardware.reserve(nodes.size());
    for (const NodeInfo& node : nodes) {
        hardware.push_back({node.inventory.gpus, node.topology_groups, node.inventory.unit});
        gpus_.push_back(node.gpus);
        for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
            if (assigned_pod->affinity) {
                affinity_.add(*assigned_pod->affinity, assigned_pod->uid,
                              GpuAffinityIndex::As::holder);
            }
        }
    }
    nodes_ = std::make_shared<const std::vector<NodeHardware>>(std::move(hardware));
}

GpuRules SimulatedGpus::with_joins(GpuRules rules, const PodUid& pod) const {
    rules.joins = rules.affinity && affinity_.has_other(*rules.affinity, pod);
    return rules;
}

GpuSet SimulatedGpus::allowed_gpus(GpuConstraints& gpu_constraints, std::size_t node) const {
    const std::vector<GpuState>& gpus = gpus_[node];
    gpu_constraints.look_at(node_gpus(node));
    GpuSet out = 0;
    for (std::size_t gpu = 0; gpu < std::min<std::size_t>(gpus.size(), kMaxGpus); ++gpu) {
        if (gpu_constraints.admits(gpu))
            out = static_cast<GpuSet>(out | gpu_bit(static_cast<int>(gpu)));
    }
    return out;
}

AssignedPod SimulatedGpus::assigned_pod_on(std::size_t node, const PodRequest& pod,
                                           std::span<const GpuSet> gpus) const {
    Assignment assignment;
    for (const GpuSet of_container : gpus) {
        for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
            if ((of_container & gpu_bit(gpu)) != 0) assignment.gpus.push_back(gpu);
        }
    }
    const GpuRules& rules = rules_of(pod.containers);
    const NodeHardware& at = (*nodes_)[node];
    return {
        .uid = pod.uid,
        .allocated = allocated_by_gpu(containers_of(pod.containers, assignment, at.gpus, at.unit)),
        .groups = rules.groups(),
        .affinity = rules.affinity};
}

NodeGpus SimulatedGpus::node_gpus(std::size_t node) const {
    const NodeHardware& at = (*nodes_)[node];
    return {.gpus = at.gpus,
            .states = gpus_[node],
            .free = {},
            .topology_groups = at.topology_groups,
            .unit = at.unit};
}

void SimulatedGpus::count(std::size_t node, const AssignedPod& assigned_pod, int sign) {
    count_allocated(assigned_pod, (*nodes_)[node].gpus, gpus_[node], sign);
    if (!assigned_pod.affinity) return;
    if (sign > 0) {
        affinity_.add(*assigned_pod.affinity, assigned_pod.uid, GpuAffinityIndex::As::holder);
    } else {
        affinity_.remove(*assigned_pod.affinity, assigned_pod.uid, GpuAffinityIndex::As::holder);
    }
}

SimulatedGpusTrial::~SimulatedGpusTrial() {
    for (const One& one : added_ | std::views::reverse)
        gpus_.remove(one.node, one.assigned_pod);
}

void SimulatedGpusTrial::add(std::size_t node, AssignedPod assigned_pod) {
    gpus_.add(node, assigned_pod);
    added_.push_back({node, std::move(assigned_pod)});
}

}  // namespace tessera

#include "domain/scheduling/planned_snapshot.hpp"

#include <utility>

#include "domain/placement/engine_terms.hpp"
#include "domain/placement/given_gpus.hpp"

namespace tessera {

PlannedSnapshot::PlannedSnapshot(std::shared_ptr<const Snapshot> snapshot, std::uint64_t& versions)
    : now_(std::move(snapshot)), versions_(versions), builder_(*now_, versions) {}

bool PlannedSnapshot::assign(std::uint32_t position, const PodRequest& pod,
                             const NodeScorer* scorer) {
    NodeInfo node = *now_->row(position).node;
    const auto gpus = given_gpus(node, pod, to_place(pod), scorer);
    if (!gpus) return false;
    AssignedPod assigned{
        .uid = pod.uid,
        .name = pod.name,
        .allocation = {pod.uid, node.inventory.name, pod.containers.front().gpu.dialect,
                       containers_of(pod.containers, *gpus, node.inventory.gpus,
                                     node.inventory.unit)},
        .groups = rules_of(pod.containers).groups(),
        .affinity = rules_of(pod.containers).affinity};
    assigned.allocated = allocated_by_gpu(assigned.allocation.containers);
    count_allocated(assigned, node.inventory.gpus, node.gpus, 1);
    node.assigned_pods.push_back(std::make_shared<const AssignedPod>(std::move(assigned)));
    node.free = free_of(node.gpus);
    const HostRequest& has = node.inventory.host;
    const HostRequest used{has.cpu_milli - node.load.cpu_milli + pod.host.cpu_milli,
                           has.memory - mebibytes(node.load.memory_mib) + pod.host.memory};
    node.load = load_of(node, node.load.model, used);
    --node.free_pods;
    builder_.replace(std::move(node));
    versions_ = builder_.versions();
    now_ = builder_.build(now_->unobserved());
    return true;
}

}  // namespace tessera

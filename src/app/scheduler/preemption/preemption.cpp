#include "app/scheduler/preemption/preemption.hpp"

#include <algorithm>

#include "domain/dialect/dialect.hpp"
#include "domain/placement/victims.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

bool holds_here(const NodeInfo& node, const PodUid& uid) {
    return std::ranges::find(node.assigned_pods, uid, &AssignedPod::uid) !=
           node.assigned_pods.end();
}

// Whether kube-scheduler saw too little free memory on the node, in the sum that it counts.
bool lacks_sum(const NodeInfo& node, const ContainerRequests& request) {
    if (request.front().gpu.dialect->counted_memory == nullptr) return false;
    Bytes free;
    for (const Bytes gpu : node.free)
        free += gpu;
    Bytes asked;
    for (const ContainerRequest& container : request) {
        for (int i = 0; i < container.gpu.gpus; ++i)
            asked += bytes_of(container.gpu.memory, node.inventory.unit, {});
    }
    return free < asked;
}

// Whether the pod would share a GPU with pods of its affinity group, and one of them is a victim.
bool evicts_an_affine(const NodeInfo& node, const NodeVictims& victims, const PodRequest& pod) {
    return std::ranges::any_of(node.assigned_pods, [&](const AssignedPodPtr& assigned_pod) {
        return is_affine(*assigned_pod, pod) &&
               std::ranges::find(victims.pods, assigned_pod->uid) != victims.pods.end();
    });
}

// Nothing if the pod cannot get GPUs on the node.
std::optional<NodeVictims> victims_on(const NodeInfo& node, const NodeVictims& asked,
                                      const PodRequest& pod) {
    const Preemption alone = plan_preemption(node, pod);
    if (alone.kind == Kind::fits) return asked;
    if (alone.kind != Kind::evict) return std::nullopt;
    const Preemption added = plan_preemption(node, pod, asked.pods);
    if (added.kind != Kind::evict) return asked;
    const bool exchange = lacks_sum(node, pod.containers);
    NodeVictims out{asked.node, {}, asked.pdb_violations};
    for (const AssignedPod* assigned_pod : exchange ? alone.victims : added.victims)
        out.pods.push_back(assigned_pod->uid);
    for (const PodUid& uid : asked.pods) {
        if (!exchange || !holds_here(node, uid)) out.pods.push_back(uid);
    }
    return out;
}

}  // namespace

std::vector<NodeVictims> choose_victims(const Snapshot& snapshot, const PreemptionArgs& args,
                                        const PodRequest& waiting) {
    const PodRequest pod = snapshot.joined(waiting);
    std::vector<NodeVictims> out;
    for (const NodeVictims& asked : args.nodes) {
        const NodeInfo* node = snapshot.find(asked.node.str());
        if (node == nullptr) continue;
        auto victims = victims_on(*node, asked, pod);
        if (victims && !evicts_an_affine(*node, *victims, pod)) out.push_back(*std::move(victims));
    }
    return with_victims(std::move(out));
}

std::vector<NodeVictims> with_victims(std::vector<NodeVictims> nodes) {
    std::erase_if(nodes, [](const NodeVictims& node) { return node.pods.empty(); });
    return nodes;
}

}  // namespace tessera

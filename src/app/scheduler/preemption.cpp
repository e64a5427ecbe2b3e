#include "app/scheduler/preemption.hpp"

#include <algorithm>

#include "domain/placement/victims.hpp"

namespace tessera {
namespace {

using Kind = Preemption::Kind;

bool holds_here(const NodeView& node, const PodUid& uid) {
    return std::ranges::find(node.tenants, uid, &Tenant::uid) != node.tenants.end();
}

// Whether kube-scheduler saw too little aliyun.com/gpu-mem on the node.
bool lacks_sum(const NodeView& node, const PodRequest& request) {
    if (request.front().gpu.dialect != DialectId::aliyun) return false;
    Bytes free;
    for (const Bytes card : node.free)
        free += card;
    Bytes asked;
    for (const ContainerRequest& container : request) {
        for (int i = 0; i < container.gpu.gpus; ++i)
            asked += bytes_of(container.gpu.memory, node.inventory.unit, {});
    }
    return free < asked;
}

// Whether the pod would come to be with others, and one of these is to end for it.
bool ends_a_mate(const NodeView& node, const NodeVictims& victims, const PodAsk& pod) {
    return std::ranges::any_of(node.tenants, [&](const TenantPtr& tenant) {
        return is_mate(*tenant, pod) &&
               std::ranges::find(victims.pods, tenant->uid) != victims.pods.end();
    });
}

// Nothing where the node is no place for the pod.
std::optional<NodeVictims> victims_on(const NodeView& node, const NodeVictims& asked,
                                      const PodAsk& pod) {
    const Preemption alone = plan_preemption(node, pod);
    if (alone.kind == Kind::fits) return asked;
    if (alone.kind != Kind::evict) return std::nullopt;
    const Preemption added = plan_preemption(node, pod, asked.pods);
    if (added.kind != Kind::evict) return asked;
    const bool exchange = lacks_sum(node, pod.request);
    NodeVictims out{asked.node, {}, asked.pdb_violations};
    for (const Tenant* tenant : exchange ? alone.victims : added.victims)
        out.pods.push_back(tenant->uid);
    for (const PodUid& uid : asked.pods) {
        if (!exchange || !holds_here(node, uid)) out.pods.push_back(uid);
    }
    return out;
}

}  // namespace

std::vector<NodeVictims> choose_victims(const ClusterView& view, const PreemptionArgs& args,
                                        const PodAsk& waiting) {
    const PodAsk pod = view.joined(waiting);
    std::vector<NodeVictims> out;
    for (const NodeVictims& asked : args.nodes) {
        const NodeView* node = view.find(asked.node.str());
        if (node == nullptr) continue;
        auto victims = victims_on(*node, asked, pod);
        if (victims && !ends_a_mate(*node, *victims, pod)) out.push_back(*std::move(victims));
    }
    return with_victims(std::move(out));
}

std::vector<NodeVictims> with_victims(std::vector<NodeVictims> nodes) {
    std::erase_if(nodes, [](const NodeVictims& node) { return node.pods.empty(); });
    return nodes;
}

}  // namespace tessera

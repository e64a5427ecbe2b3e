#include "app/scheduler/preemption.hpp"

#include <algorithm>

#include "domain/placement/victims.hpp"

namespace tessera {

std::vector<NodeVictims> choose_victims(const ClusterView& view, const PreemptionArgs& args,
                                        const PodRequest& request, const Policy& policy) {
    std::vector<NodeVictims> out;
    for (const NodeVictims& asked : args.nodes) {
        const NodeView* node = view.find(asked.node.str());
        if (node == nullptr) continue;
        const Preemption plan = plan_preemption(*node, request, policy, args.pod.priority);
        if (plan.kind == Preemption::Kind::wait) return {};
        if (plan.kind == Preemption::Kind::never) continue;
        NodeVictims victims{asked.node, {}, asked.pdb_violations};
        for (const Tenant* tenant : plan.victims)
            victims.pods.push_back(tenant->uid);
        for (const PodUid& uid : asked.pods) {
            if (std::ranges::find(node->tenants, uid, &Tenant::uid) == node->tenants.end()) {
                victims.pods.push_back(uid);
            }
        }
        out.push_back(std::move(victims));
    }
    return out;
}

}  // namespace tessera

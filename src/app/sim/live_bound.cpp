#include "app/sim/live_bound.hpp"

#include <algorithm>

namespace tessera {

Result<Workload> bound_workload(const LiveCluster& cluster) {
    if (cluster.cards_of_nodes.sizes().size() > 1) {
        return fail(Code::unsupported,
                    "the cluster's cards have several sizes, and a share in bytes is another part "
                    "of each; bounds are for cards of one size");
    }
    Workload workload;
    for (const NodeLoad& load : cluster.empty.loads) {
        const auto in_order = std::ranges::count_if(load.milli, [](int free) { return free > 0; });
        workload.nodes.push_back({.cpu_milli = std::max(load.cpu_milli, 0),
                                  .memory_mib = std::max(load.memory_mib, 0),
                                  .cards = static_cast<int>(in_order),
                                  .model = load.model});
    }
    workload.node_names = cluster.node_names;
    for (const LivePod& pod : cluster.pods)
        workload.arrivals.insert(workload.arrivals.end(), pod.learnt.begin(), pod.learnt.end());
    workload.mix = cluster.mix;
    return workload;
}

}  // namespace tessera

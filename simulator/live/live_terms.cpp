#include "simulator/live/live_terms.hpp"

#include <memory>
#include <utility>

#include "domain/cluster/topology_groups.hpp"
#include "domain/placement/engine_terms.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

NodeInventory inventory_of(const DumpNode& node) {
    NodeInventory out{.name = NodeName(node.name), .unit = node.unit, .host = node.host};
    for (const DumpGpu& gpu : node.gpus) {
        const auto index = static_cast<int>(out.gpus.size());
        out.gpus.push_back(
            {.uuid = gpu.uuid.empty() ? uuid_of_index(index) : gpu.uuid,
             .index = index,
             .model = gpu.model,
             .memory = gpu.memory,
             .over_limit = gpu.over_limit,
             .condition = gpu.healthy ? GpuCondition::healthy : GpuCondition::unhealthy,
             .links = gpu.links,
             .offers_mps = gpu.offers_mps,
             .limits_memory = gpu.limits_memory});
    }
    return out;
}

AssignedPodPtr assigned_pod_of(const LiveAssignedPod& live, const std::vector<Gpu>& gpus) {
    const GpuRules& rules = rules_of(live.request->containers);
    AssignedPod assigned_pod{.uid = live.request->uid,
                             .name = live.pod->name,
                             .groups = rules.groups(),
                             .affinity = rules.affinity};
    for (const DumpAllocation& holder : live.pod->allocated) {
        ContainerAllocation given{.kind = holder.kind};
        for (const DumpShare& share : holder.shares) {
            given.gpus.push_back({.uuid = gpus[static_cast<std::size_t>(share.gpu)].uuid,
                                  .index = share.gpu,
                                  .memory = share.memory,
                                  .cores = share.cores,
                                  .whole = share.whole,
                                  .mps = rules.uses_mps()});
        }
        assigned_pod.allocation.containers.push_back(std::move(given));
    }
    assigned_pod.allocated = allocated_by_gpu(assigned_pod.allocation.containers);
    return std::make_shared<const AssignedPod>(std::move(assigned_pod));
}

}  // namespace

Result<PodRequest> request_of(const DumpPod& pod) {
    const auto rules = parse_gpu_rules(pod.gpu_rules, pod.name.ns);
    if (!rules) return fail(rules.error().in("pod " + pod.name.str()));
    PodRequest request{.uid = PodUid(pod.name.str()), .name = pod.name, .host = pod.host};
    for (const DumpRequest& one : pod.requests) {
        request.containers.push_back(
            {.kind = one.kind,
             .gpu = {.gpus = one.gpus, .memory = one.memory, .cores = one.cores, .rules = *rules}});
    }
    return request;
}

NodeInfo node_info_of(const DumpNode& node, int model,
                      const std::vector<LiveAssignedPod>& assigned_pods) {
    NodeInfo info{.inventory = inventory_of(node)};
    info.gpus = empty_gpus(info.inventory.gpus);
    info.topology_groups = topology_groups_of(info.inventory.gpus);
    HostRequest used = node.others;
    for (const LiveAssignedPod& assigned_pod : assigned_pods) {
        info.assigned_pods.push_back(assigned_pod_of(assigned_pod, info.inventory.gpus));
        count_allocated(*info.assigned_pods.back(), info.inventory.gpus, info.gpus, 1);
        used.cpu_milli += assigned_pod.pod->host.cpu_milli;
        used.memory += assigned_pod.pod->host.memory;
    }
    info.load = load_of(info, model, used);
    return info;
}

}  // namespace tessera

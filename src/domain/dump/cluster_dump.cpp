#include "domain/dump/cluster_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.hpp"
#include "base/counted.hpp"
#include "domain/cluster/pod_request.hpp"
#include "domain/scheduling/state.hpp"

namespace tessera {
namespace {

// Converts bits by the driver's index to bits by position in the list.
std::uint64_t by_place(std::uint64_t by_index, std::span<const Gpu> gpus) {
    std::uint64_t out = 0;
    for (std::size_t place = 0; place < gpus.size() && place <= kMostLinkedIndex; ++place) {
        const int index = gpus[place].index;
        if (index > kMostLinkedIndex) continue;
        if (((by_index >> static_cast<unsigned>(index)) & 1) != 0) out |= std::uint64_t{1} << place;
    }
    return out;
}

std::vector<DumpGpu> gpus_of(const NodeInventory& node) {
    std::vector<DumpGpu> gpus;
    gpus.reserve(node.gpus.size());
    for (const Gpu& gpu : node.gpus) {
        const std::size_t place = gpus.size();
        const std::uint64_t others =
            ~(place <= kMostLinkedIndex ? std::uint64_t{1} << place : std::uint64_t{0});
        gpus.push_back({.model = gpu.model,
                        .memory = gpu.capacity(),
                        .over_limit = gpu.over_limit,
                        .healthy = gpu.usable(),
                        .uuid = gpu.uuid,
                        .links = {.numa = gpu.links.numa,
                                  .pcie = by_place(gpu.links.pcie, node.gpus) & others,
                                  .nvlink = by_place(gpu.links.nvlink, node.gpus) & others},
                        .offers_mps = gpu.offers_mps,
                        .limits_memory = gpu.limits_memory});
    }
    return gpus;
}

std::vector<DumpAllocation> allocations_of(const Allocation& allocation,
                                           const NodeInventory& node) {
    std::vector<DumpAllocation> allocated;
    for (const ContainerAllocation& container : allocation.containers) {
        DumpAllocation given{container.kind, {}};
        for (const GpuShare& share : container.gpus) {
            const Gpu* gpu = find_gpu(node.gpus, share.uuid);
            if (gpu == nullptr) continue;
            // The GPU's capacity may have changed since it was assigned.
            const Bytes most = gpu->capacity();
            const Bytes memory = share.whole ? most : std::min(share.memory, most);
            given.shares.push_back(
                {static_cast<int>(gpu - node.gpus.data()), memory, share.cores, share.whole});
        }
        if (!given.shares.empty()) allocated.push_back(std::move(given));
    }
    return allocated;
}

struct Requested {
    PodRequest request;
    GpuRuleTexts rules;
};

// A running pod keeps its GPUs, even if its annotations have changed.
Result<Requested> requested_of(PodInfo pod) {
    auto request = request_of(pod);
    if (!request && !pod.node.empty()) {
        pod.gpu_rules = {};
        pod.policy = {};
        request = request_of(pod);
    }
    if (!request) return fail(request.error());
    return Requested{*std::move(request), pod.gpu_rules};
}

DumpPod pod_of(const SeenPod& seen, const Requested& requested) {
    const PodRequest& request = requested.request;
    DumpPod pod{.name = request.name,
                .created = seen.info.created,
                .deleted = seen.deleted,
                .node = seen.info.node.str(),
                .host = request.host,
                .gang = request.gang,
                .chooses_nodes = seen.chooses_nodes,
                .gpu_rules = requested.rules,
                .requests = {},
                .allocated = {}};
    for (const ContainerRequest& container : request.containers) {
        pod.requests.push_back(
            {container.kind, container.gpu.gpus, container.gpu.memory, container.gpu.cores});
    }
    return pod;
}

// The counter for a pod that is not waiting to be placed; null if it waits or is on a node.
int* why_not_waiting(const PodInfo& pod, DumpOmission& left_out) {
    if (!pod.node.empty()) return nullptr;
    if (pod.terminating) return &left_out.ending;
    return pod.gated ? &left_out.gated : nullptr;
}

// A gang's size from a PodGroup is not read here: all pods of such a gang count.
void say_sizes(std::vector<DumpPod>& pods) {
    std::map<GangId, int> counts;
    const auto id_of = [](const DumpPod& pod) { return GangId{pod.name.ns, pod.gang->gang}; };
    for (const DumpPod& pod : pods) {
        if (pod.gang) ++counts[id_of(pod)];
    }
    for (DumpPod& pod : pods) {
        if (pod.gang && pod.gang->size == 0) pod.gang->size = counts.at(id_of(pod));
    }
}

// Numbers the names, in order of appearance.
class Numbers {
  public:
    explicit Numbers(std::string what) : what_(std::move(what)) {}

    void replace(std::string& name) {
        if (!name.empty()) name = of(name);
    }
    void replace(GpuUuid& uuid) {
        if (!uuid.empty()) uuid = GpuUuid(of(uuid.str()));
    }
    std::string of(const std::string& name) {
        const auto next = static_cast<int>(numbers_.size()) + 1;
        const int number = numbers_.try_emplace(name, next).first->second;
        return what_ + "-" + std::to_string(number);
    }

  private:
    std::string what_;
    std::map<std::string, int> numbers_;
};

void replace_names(GpuRuleTexts& texts, const std::string& ns, Numbers& gpus, Numbers& groups) {
    for (std::string* group : {&texts.anti_affinity, &texts.affinity}) {
        if (!group->empty()) *group = groups.of(ns + "/" + *group);
    }
    const auto rules = parse_gpu_rules(texts, ns);
    TESSERA_CHECK(rules.has_value(), "the rules of a snapshot are valid");
    texts.uuids.clear();
    const auto add = [&](const char* before, const GpuUuid& uuid) {
        texts.uuids += (texts.uuids.empty() ? "" : ", ") + (before + gpus.of(uuid.str()));
    };
    for (const GpuUuid& uuid : rules->uuids)
        add("", uuid);
    for (const GpuUuid& uuid : rules->barred_uuids)
        add("!", uuid);
}

}  // namespace

ClusterDump dump_of(std::span<const SeenNode> nodes, std::span<const SeenPod> pods) {
    ClusterState state;
    for (const SeenNode& node : nodes)
        state.set_node(node.inventory);
    std::map<NodeName, HostRequest> others;
    for (const SeenPod& pod : pods) {
        state.set_pod(pod.info);
        if (pod.info.finished || asks_for_gpus(pod.info)) continue;
        HostRequest& sum = others[pod.info.node];
        sum.cpu_milli += pod.info.host.cpu_milli;
        sum.memory += pod.info.host.memory;
    }
    const auto snapshot = state.snapshot();
    ClusterDump out;
    std::map<PodUid, AssignedPodPtr> assigned_pods;
    std::map<NodeName, const NodeInfo*> node_infos;
    for (const SeenNode& node : nodes) {
        const NodeInventory& has = node.inventory;
        const NodeInfo* seen = snapshot->find(has.name.str());
        out.nodes.push_back({.name = has.name.str(),
                             .unit = has.unit,
                             .host = has.host,
                             .others = others[has.name],
                             .closed = node.closed || (seen != nullptr && !seen->blocked.empty()),
                             .gpus = gpus_of(has)});
        if (seen == nullptr) continue;
        node_infos[has.name] = seen;
        for (const AssignedPodPtr& assigned_pod : seen->assigned_pods)
            assigned_pods[assigned_pod->uid] = assigned_pod;
    }
    for (const SeenPod& pod : pods) {
        if (pod.info.finished || !asks_for_gpus(pod.info)) continue;
        if (int* reason = why_not_waiting(pod.info, out.left_out)) {
            ++*reason;
            continue;
        }
        const auto requested = requested_of(pod.info);
        if (!requested) {
            ++out.left_out.faulty;
            continue;
        }
        DumpPod dumped = pod_of(pod, *requested);
        const auto on = node_infos.find(pod.info.node);
        const auto assigned_pod = assigned_pods.find(pod.info.uid);
        if (on != node_infos.end() && assigned_pod != assigned_pods.end()) {
            dumped.allocated =
                allocations_of(assigned_pod->second->allocation, on->second->inventory);
        }
        // A pod on a node that is gone, or with unknown GPUs, is of no use to the simulator.
        if (!dumped.node.empty() && dumped.allocated.empty()) {
            ++out.left_out.unknown;
            continue;
        }
        out.pods.push_back(std::move(dumped));
    }
    say_sizes(out.pods);
    return out;
}

std::string left_out_text(const DumpOmission& left_out) {
    struct Part {
        int pods;
        std::string_view why;
    };
    std::string parts;
    for (const auto& [pods, why] :
         {Part{left_out.gated, "with scheduling gates"}, Part{left_out.ending, "ending"},
          Part{left_out.faulty, "with an invalid request"},
          Part{left_out.unknown, "on a node, but on unknown GPUs"}}) {
        if (pods > 0) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", pods, why);
    }
    if (parts.empty()) return {};
    const int pods = left_out.pods();
    return fmt::format("{} with GPUs {} left out: {}",
                       counted(static_cast<std::size_t>(pods), "pod"), pods == 1 ? "is" : "are",
                       parts);
}

ClusterDump anonymous(ClusterDump dump) {
    Numbers nodes("node");
    Numbers namespaces("namespace");
    Numbers pods("pod");
    Numbers gangs("gang");
    Numbers gpus("GPU");
    Numbers groups("group");
    for (DumpNode& node : dump.nodes) {
        nodes.replace(node.name);
        for (DumpGpu& gpu : node.gpus)
            gpus.replace(gpu.uuid);
    }
    for (DumpPod& pod : dump.pods) {
        nodes.replace(pod.node);
        if (pod.gang) {
            pod.gang->gang = pod.name.ns + "/" + pod.gang->gang;
            gangs.replace(pod.gang->gang);
        }
        replace_names(pod.gpu_rules, pod.name.ns, gpus, groups);
        pod.name.name = pod.name.str();
        pods.replace(pod.name.name);
        namespaces.replace(pod.name.ns);
    }
    return dump;
}

}  // namespace tessera

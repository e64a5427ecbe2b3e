#include "domain/defrag/cluster_objects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "domain/dialect/native.hpp"

namespace tessera::defrag {
namespace {

bool holds_gpus(const PodInfo& pod) {
    return asks_for_gpus(pod) && !pod.node.empty() && !pod.finished;
}

// Nothing if the pod may be moved.
std::optional<std::string> why_it_stays(const ClusterObjects& objects, std::size_t i,
                                        const ScorerOf& scorer_of) {
    auto why = why_it_stays(objects.states[i], objects.budgets);
    if (why) return why;
    const auto request = request_of(objects.pods[i]);
    if (!request) return "an invalid request";
    // Its replacement goes to the GPUs of its group, so the plan cannot choose its place.
    if (!request->containers.empty() && rules_of(request->containers).affinity)
        return fmt::format("a label {}", kGpuAffinity);
    const auto scorer = scorer_of(*request);
    if (scorer != nullptr && scorer->has_random_tie_break())
        return "a policy that places its new pod at random";
    return why;
}

std::set<NodeName> closed_of(const ClusterObjects& objects) {
    std::set<NodeName> out;
    for (const NodeTraits& node : objects.traits) {
        if (node.closed) out.insert(node.name);
    }
    return out;
}

tl::unexpected<Error> requests_none(const ClusterObjects& objects, const PodInfo& pod) {
    const auto at = objects.scheduling.find(pod.uid);
    const bool has_foreign = at != objects.scheduling.end() && !at->second.foreign_requests.empty();
    const std::string requested =
        has_foreign ? fmt::format("{}, which Tessera does not assign, and no GPU of Tessera",
                                  fmt::join(at->second.foreign_requests, ", "))
                    : "no GPU of Tessera";
    return fail(Code::conflict,
                fmt::format("pod {} requests {}; to request one, create it again with {}: 1 and "
                            "{}, such as 3Gi, in the limits of a container, or with {}: 1 for a "
                            "whole GPU",
                            pod.name.str(), requested, resource::kGpuShare, resource::kGpuMemory,
                            resource::kGpu));
}

// Many pods have the same rules, so the result per set of rules is cached.
class BarredNodes {
  public:
    explicit BarredNodes(const ClusterObjects& objects) : objects_(objects) {}

    Barred of(const NodeRules& rules) {
        const auto [at, is_new] = known_.try_emplace(rules);
        if (!is_new) return at->second;
        auto barred = std::make_shared<std::set<NodeName>>();
        for (const NodeTraits& node : objects_.traits) {
            if (!may_run(rules, node)) barred->insert(node.name);
        }
        if (!barred->empty()) at->second = std::move(barred);
        return at->second;
    }

  private:
    const ClusterObjects& objects_;
    std::map<NodeRules, Barred> known_;
};

}  // namespace

FreeCapacity free_capacity_of(const ClusterObjects& objects) {
    return free_capacity_of(Cluster{.nodes = state_of(objects).snapshot()->nodes(),
                                    .closed = closed_of(objects),
                                    .movable = {}});
}

ClusterState state_of(const ClusterObjects& objects) {
    ClusterState state;
    for (const NodeInventory& node : objects.nodes)
        state.set_node(node);
    for (const PodGroup& group : objects.pod_groups)
        state.set_pod_group(group);
    for (const PodInfo& pod : objects.pods)
        state.set_pod(pod);
    for (const PodInfo& pod : objects.others)
        state.set_pod(pod);
    return state;
}

Cluster cluster_of(const ClusterObjects& objects, const ScorerOf& scorer_of) {
    Cluster out{.nodes = state_of(objects).snapshot()->nodes(),
                .closed = closed_of(objects),
                .movable = {}};
    BarredNodes barred(objects);
    for (std::size_t i = 0; i < objects.pods.size(); ++i) {
        const PodInfo& pod = objects.pods[i];
        if (!holds_gpus(pod) || why_it_stays(objects, i, scorer_of)) continue;
        PodRequest request = *request_of(pod);
        auto scorer = scorer_of(request);
        out.movable.push_back(
            {.request = std::move(request),
             .barred = barred.of(objects.states[i].nodes),
             .scorer = std::move(scorer),
             .made = replacement_by(*objects.states[i].owner, objects.waiting_jobs)});
    }
    return out;
}

std::map<std::string, int> stays_of(const ClusterObjects& objects, const ScorerOf& scorer_of) {
    std::map<std::string, int> out;
    for (std::size_t i = 0; i < objects.pods.size(); ++i) {
        if (!holds_gpus(objects.pods[i])) continue;
        if (const auto why = why_it_stays(objects, i, scorer_of)) ++out[*why];
    }
    return out;
}

Result<std::size_t> find_pod(const ClusterObjects& objects, const PodName& name) {
    const auto pod = std::ranges::find(objects.pods, name, &PodInfo::name);
    if (pod != objects.pods.end()) return static_cast<std::size_t>(pod - objects.pods.begin());
    const auto other = std::ranges::find(objects.others, name, &PodInfo::name);
    if (other != objects.others.end()) return requests_none(objects, *other);
    return fail(Code::not_found,
                fmt::format("there is no pod {} in namespace {}, or it has finished and requested "
                            "no GPU of Tessera",
                            name.name, name.ns));
}

Result<RoomFor> find_waiting(const ClusterObjects& objects, const PodName& name) {
    TRY(const std::size_t at, find_pod(objects, name));
    const PodInfo& pod = objects.pods[at];
    const char* why = pod.finished        ? "has finished"
                      : pod.terminating   ? "is terminating"
                      : !pod.node.empty() ? "is on a node already"
                      : pod.gated         ? "has scheduling gates"
                                          : nullptr;
    if (why != nullptr) return fail(Code::conflict, fmt::format("pod {} {}", name.str(), why));
    auto request = request_of(pod);
    if (!request) return fail(request.error().in("pod " + name.str()));
    if (request->containers.empty()) return requests_none(objects, pod);
    return RoomFor{*std::move(request), BarredNodes(objects).of(objects.states[at].nodes)};
}

}  // namespace tessera::defrag

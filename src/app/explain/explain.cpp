#include "app/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "app/scheduler/filter/node_choice.hpp"
#include "app/scheduler/gang/gang_reservations.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "base/counted.hpp"
#include "domain/placement/given_gpus.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"
#include "domain/scheduling/state.hpp"

namespace tessera {
namespace {

constexpr std::string_view kNotItsNode =
    "kube-scheduler's own: the pod's node selector, node affinity or tolerations leave it out";

// The pod as it was before it was placed.
PodInfo as_waiting(PodInfo pod) {
    pod.node = {};
    pod.allocation.reset();
    pod.legacy.reset();
    pod.started = false;
    return pod;
}

// Returns why kube-scheduler's own rules exclude the node; nothing if they do not.
std::optional<std::string> barred_by_kubernetes(const defrag::PodState& pod,
                                                const HostRequest& host, const NodeTraits& traits,
                                                const NodeInfo& node) {
    if (traits.closed) return "kube-scheduler's own: the node is cordoned";
    if (!may_run(pod.nodes, traits)) return std::string(kNotItsNode);
    if (node.inventory.host == HostRequest{})
        return std::nullopt;  // the node has not reported its host resources
    if (host.cpu_milli > node.load.cpu_milli) {
        return fmt::format("kube-scheduler's own: asked {}m CPU, {}m are free", host.cpu_milli,
                           std::max(node.load.cpu_milli, 0));
    }
    const std::int64_t free_mib = std::max(node.load.memory_mib, 0);
    if (host.memory > mebibytes(free_mib)) {
        return fmt::format("kube-scheduler's own: asked {} of the node's memory, {} are free",
                           rounded_up(host.memory), to_string(mebibytes(free_mib)));
    }
    return std::nullopt;
}

// The filter's answer for this one node.
FilterAnswer filter(const Snapshot& snapshot, const PodInfo& info, const PodRequest& pod,
                    const NodeName& node) {
    ExtenderArgs args;
    args.pod = info;
    args.reads_all = true;  // the caller's own rights decided which other pods it could read
    args.names = {node.str()};
    return choose_nodes(snapshot, args, pod, nullptr, 0);
}

std::vector<GpuExplanation> gpus_of(const Assignment& assignment, const NodeInfo& node,
                                    const NodeGpus& room) {
    std::vector<GpuExplanation> out;
    for (const int index : assignment.gpus) {
        const auto i = static_cast<std::size_t>(index);
        const Gpu& gpu = node.inventory.gpus[i];
        out.push_back({gpu.uuid, gpu.index, gpu.model, room.free[i]});
    }
    return out;
}

// For a node where the pod fits: the GPUs as bind would choose them, and the score. The scorer
// ignores nominees (node_choice.cpp).
void score(NodeExplanation& explanation, const Snapshot& snapshot, const NodeInfo& node,
           const PodRequest& pod, const NodeScorer* scorer) {
    const PodToPlace this_pod = to_place(pod);
    const RoomLeft left(gpus_left(node, this_pod));
    const NodeGpus room = left.node_gpus(node);
    const auto gpus = given_gpus(node, pod, this_pod, scorer);
    if (!gpus) return;
    explanation.gpus = gpus_of(*gpus, node, room);
    Placer placer(pod.containers);
    explanation.score = -placer.try_node(room)->price;
    if (scorer == nullptr) return;
    const std::uint32_t position = snapshot.position(node.inventory.name.str());
    explanation.score = scorer->score(snapshot, {&position, 1}, pod).front();
    explanation.scored = explanation.score != NodeScorer::kLast;
    if (explanation.scored) explanation.terms = scorer->terms(node, node.node_gpus(), pod);
}

// The nodes that kube-scheduler offers for the pod, whatever else runs there. How many pods of a
// gang the CPU and memory of each node allow is decided by the gang's reservations.
std::vector<std::string_view> offered(const defrag::ClusterObjects& objects, std::size_t pod_at) {
    std::vector<std::string_view> out;
    for (const NodeTraits& traits : objects.traits) {
        if (!traits.closed && may_run(objects.states[pod_at].nodes, traits))
            out.push_back(traits.name.str());
    }
    return out;
}

// How much of the gang as a whole fits now, among all other pods. Existing reservations are only in
// the controller's memory, so the sentence says what a new search would find.
std::string gang_sentence(ClusterState& state, const PodRequest& pod,
                          std::span<const std::string_view> nodes, const PolicySet& policies) {
    if (!pod.gang) return {};
    const auto said = state.gang_size(pod);
    if (!said) {
        return fmt::format(
            "It is of gang {}, and waits for a PodGroup of that name, which says how many are "
            "placed together: there is none, or you may not list them. What follows is of this "
            "pod alone.",
            pod.gang->gang);
    }
    if (*said == 0) return {};
    const auto size = static_cast<std::size_t>(*said);
    const GangNow now = state.gang({pod.name.ns, pod.gang->gang});
    std::string out = fmt::format(
        "It is of gang {}: {} there ({} placed), and {} are placed together or not at all{}. ",
        pod.gang->gang, counted(now.pods(), "pod"), now.placed, size, about_the_others(now));
    if (now.pods() < size) {
        out += fmt::format("It waits for {} more. ", size - now.pods());
    } else if (now.placed < size) {
        const auto members = those_to_place(now, pod, size);
        const GangReservations reservations = reserve_for_gang(state, nodes, members, &policies);
        out += reservations.found == members.size()
                   ? fmt::format("All {} find room at once now. ", now.placed + reservations.found)
                   : fmt::format(
                         "As a whole it does not fit now: {} of {} find room, {} does "
                         "not. ",
                         now.placed + reservations.found, size, reservations.without);
    }
    return out + "What follows is of this pod alone.";
}

std::vector<NodeExplanation> explain_nodes(const defrag::ClusterObjects& objects,
                                           std::size_t pod_at, const PodInfo& info,
                                           const PodRequest& pod, const Snapshot& snapshot,
                                           const NodeScorer* scorer) {
    std::vector<NodeExplanation> out;
    for (const NodeTraits& traits : objects.traits) {
        const NodeInfo* node = snapshot.find(traits.name.str());
        if (node == nullptr || node->gpus.empty()) continue;
        NodeExplanation explanation{.node = traits.name};
        if (auto barred = barred_by_kubernetes(objects.states[pod_at], pod.host, traits, *node)) {
            explanation.why = *std::move(barred);
        } else {
            const FilterAnswer answer = filter(snapshot, info, pod, traits.name);
            explanation.fits = !answer.fitting.empty();
            if (explanation.fits) {
                score(explanation, snapshot, *node, pod, scorer);
            } else {
                explanation.why = answer.failed.empty() ? answer.unresolvable.front().reason
                                                        : answer.failed.front().reason;
            }
        }
        out.push_back(std::move(explanation));
    }
    return out;
}

// The best first, as in choose_nodes. For binpack the fuller node is first among equals, for a
// scorer the first in the order of the snapshot.
void sort(std::vector<NodeExplanation>& explanations, const Snapshot& snapshot, bool is_scored) {
    const auto order = [&](const NodeExplanation& explanation) {
        const std::uint32_t position = snapshot.position(explanation.node.str());
        const std::int64_t second =
            is_scored ? std::int64_t{position} : snapshot.row(position).spare.count;
        return std::tuple(!explanation.fits, explanation.fits ? -explanation.score : 0,
                          explanation.fits ? second : 0, explanation.node);
    };
    std::ranges::sort(explanations, {}, order);
}

}  // namespace

Result<PodExplanation> explain_pod(const defrag::ClusterObjects& objects, const PodName& name,
                                   std::string_view standard) {
    TRY(const PlacementPolicyRow* row, find_policy_option(standard));
    TRY(const std::size_t at, find_pod(objects, name));
    const PodInfo& found = objects.pods[at];
    if (found.finished) return fail(Code::conflict, fmt::format("pod {} has finished", name.str()));
    const auto request = request_of(found);
    if (!request) return fail(request.error().in("pod " + name.str()));
    const PodInfo info = as_waiting(found);
    ClusterState state;
    for (const NodeInventory& node : objects.nodes)
        state.set_node(node);
    for (const PodGroup& group : objects.pod_groups)
        state.set_pod_group(group);
    for (const PodInfo& pod : objects.pods)
        state.set_pod(pod.uid == info.uid ? info : pod);
    for (const PodInfo& pod : objects.others)
        state.set_pod(pod);
    PolicySet policies(row->name);
    auto arrivals = state.take_arrivals();
    const std::size_t learnt = arrivals.pods.size();
    const auto snapshot = state.snapshot();
    policies.learn(std::move(arrivals), *snapshot);
    const auto scorer = policies.scorer_of(*request);
    const PodRequest pod = snapshot->joined(*request);
    if (!request->policy.empty()) {
        TRY(row, find_policy_option(request->policy));
    }
    PodExplanation explanation{
        .pod = name,
        .on = found.node,
        .policy = std::string(row->name),
        .policy_source =
            request->policy.empty() ? PodExplanation::Source::assumed : PodExplanation::Source::pod,
        .learns = row->mix != PolicyMix::none,
        .learnt = learnt,
        .gated = found.gated,
        .unknown_annotations = found.unknown_annotations,
        .gang = gang_sentence(state, *request, offered(objects, at), policies),
        .nodes = explain_nodes(objects, at, info, pod, *snapshot, scorer.get()),
    };
    sort(explanation.nodes, *snapshot, scorer != nullptr);
    return explanation;
}

}  // namespace tessera

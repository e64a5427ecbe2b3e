#include "app/scheduler/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "app/scheduler/gang_rooms.hpp"
#include "app/scheduler/node_choice.hpp"
#include "app/scheduler/placements.hpp"
#include "base/counted.hpp"
#include "domain/cluster/state.hpp"
#include "domain/placement/given_cards.hpp"
#include "domain/placement/nominees.hpp"
#include "domain/placement/place.hpp"

namespace tessera {
namespace {

constexpr std::string_view kNotItsNode =
    "kube-scheduler's own: the pod's node selector, node affinity or tolerations leave it out";

// As it was before it was placed.
PodFacts as_waiting(PodFacts pod) {
    pod.node = {};
    pod.allocation.reset();
    pod.legacy.reset();
    pod.started = false;
    return pod;
}

// Null: the node is for it, as far as kube-scheduler's own rules go.
std::optional<std::string> barred_by_kubernetes(const defrag::PodState& pod, const HostAsk& host,
                                                const defrag::NodeTraits& traits,
                                                const NodeView& node) {
    if (traits.closed) return "kube-scheduler's own: the node is cordoned";
    if (!may_run(pod.nodes, traits)) return std::string(kNotItsNode);
    if (node.inventory.host == HostAsk{}) return std::nullopt;  // it has not said
    if (host.cpu_milli > node.load.cpu_milli) {
        return fmt::format("kube-scheduler's own: asked {}m CPU, {}m are free", host.cpu_milli,
                           std::max(node.load.cpu_milli, 0));
    }
    const std::int64_t free_mib = std::max(node.load.memory_mib, 0);
    if (host.memory > mebibytes(free_mib)) {
        return fmt::format("kube-scheduler's own: asked {} of the node's memory, {} are free",
                           to_string(host.memory), to_string(mebibytes(free_mib)));
    }
    return std::nullopt;
}

// What filter says of this one node.
FilterAnswer filter(const ClusterView& view, const PodFacts& facts, const PodAsk& pod,
                    const NodeName& node) {
    ExtenderArgs args;
    args.pod = facts;
    args.reads_all = true;  // what was read of other pods was read by the caller's own rights
    args.names = {node.str()};
    return choose_nodes(view, args, pod, nullptr, 0);
}

std::vector<CardStory> cards_of(const Fit& fit, const NodeView& node, const Offer& room) {
    std::vector<CardStory> out;
    for (const int card : fit.cards) {
        const auto i = static_cast<std::size_t>(card);
        const Gpu& gpu = node.inventory.gpus[i];
        out.push_back({gpu.uuid, gpu.index, gpu.model, room.free[i]});
    }
    return out;
}

// Of a node where the pod fits: the cards as bind would choose them, and the score, for which a
// rater looks at no nominees (node_choice.cpp).
void rate(NodeStory& story, const ClusterView& view, const NodeView& node, const PodAsk& pod,
          const NodeRater* rater) {
    const Asker asker{pod.uid, pod.priority};
    const RoomLeft left(cards_left(node, asker));
    const Offer room = left.offer(node);
    const auto cards = given_cards(node, pod, asker, rater);
    if (!cards) return;
    story.cards = cards_of(*cards, node, room);
    Placer placer(pod.request);
    story.score = -placer.try_node(room)->price;
    if (rater == nullptr) return;
    const std::uint32_t position = view.position(node.inventory.name.str());
    story.score = rater->rate(view, {&position, 1}, pod).front();
    story.rated = story.score != NodeRater::kLast;
    if (story.rated) story.terms = rater->terms(node, node.offer(), pod);
}

// Those that kube-scheduler offers for the pod, whatever else runs there: which nodes have the CPU
// and memory for how many of a gang is found with the rooms.
std::vector<std::string_view> offered(const defrag::Snapshot& snapshot, std::size_t pod_at) {
    std::vector<std::string_view> out;
    for (const defrag::NodeTraits& traits : snapshot.traits) {
        if (!traits.closed && may_run(snapshot.states[pod_at].nodes, traits))
            out.push_back(traits.name.str());
    }
    return out;
}

// What the gang as a whole finds, among all others as they are. Rooms that the controller keeps
// are in its memory alone: what it would find anew is told.
std::string gang_sentence(ClusterState& state, const PodAsk& pod,
                          std::span<const std::string_view> nodes, const Placements& placements) {
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
    const GangNow now = state.gang({pod.name.space, pod.gang->gang});
    std::string out = fmt::format(
        "It is of gang {}: {} there ({} placed), and {} are placed together or not at all{}. ",
        pod.gang->gang, counted(now.pods(), "pod"), now.placed, size, about_the_others(now));
    if (now.pods() < size) {
        out += fmt::format("It waits for {} more. ", size - now.pods());
    } else if (now.placed < size) {
        const auto members = those_to_place(now, pod, size);
        const GangRooms rooms = promise_rooms(state, nodes, members, &placements);
        out += rooms.found == members.size()
                   ? fmt::format("All {} find room at once now. ", now.placed + rooms.found)
                   : fmt::format(
                         "As a whole it does not fit now: {} of {} find room, {} does "
                         "not. ",
                         now.placed + rooms.found, size, rooms.without);
    }
    return out + "What follows is of this pod alone.";
}

std::vector<NodeStory> stories_of(const defrag::Snapshot& snapshot, std::size_t pod_at,
                                  const PodFacts& facts, const PodAsk& pod, const ClusterView& view,
                                  const NodeRater* rater) {
    std::vector<NodeStory> out;
    for (const defrag::NodeTraits& traits : snapshot.traits) {
        const NodeView* node = view.find(traits.name.str());
        if (node == nullptr || node->cards.empty()) continue;
        NodeStory story{.node = traits.name};
        if (auto barred = barred_by_kubernetes(snapshot.states[pod_at], pod.host, traits, *node)) {
            story.why = *std::move(barred);
        } else {
            const FilterAnswer answer = filter(view, facts, pod, traits.name);
            story.fits = !answer.fitting.empty();
            if (story.fits) {
                rate(story, view, *node, pod, rater);
            } else {
                story.why = answer.failed.empty() ? answer.unresolvable.front().reason
                                                  : answer.failed.front().reason;
            }
        }
        out.push_back(std::move(story));
    }
    return out;
}

// The best first, as choose_nodes has it: of binpack the fuller node among equals, of a rater the
// first in the order of the view.
void sort(std::vector<NodeStory>& stories, const ClusterView& view, bool is_rated) {
    const auto order = [&](const NodeStory& story) {
        const std::uint32_t position = view.position(story.node.str());
        const std::int64_t second =
            is_rated ? std::int64_t{position} : view.row(position).spare.count;
        return std::tuple(!story.fits, story.fits ? -story.score : 0, story.fits ? second : 0,
                          story.node);
    };
    std::ranges::sort(stories, {}, order);
}

}  // namespace

Result<PodStory> explain_pod(const defrag::Snapshot& snapshot, const PodName& name,
                             std::string_view standard) {
    TRY(const FleetPolicyRow* row, find_policy_option(standard));
    TRY(const std::size_t at, find_pod(snapshot, name));
    const PodFacts& found = snapshot.pods[at];
    if (found.finished) return fail(Code::conflict, fmt::format("pod {} has finished", name.str()));
    const auto ask = ask_of(found);
    if (!ask) return fail(ask.error().in("pod " + name.str()));
    const PodFacts facts = as_waiting(found);
    ClusterState state;
    for (const NodeInventory& node : snapshot.nodes)
        state.set_node(node);
    for (const PodGroup& group : snapshot.pod_groups)
        state.set_pod_group(group);
    for (const PodFacts& pod : snapshot.pods)
        state.set_pod(pod.uid == facts.uid ? facts : pod);
    for (const PodFacts& pod : snapshot.others)
        state.set_pod(pod);
    Placements placements(row->name);
    auto arrivals = state.take_arrivals();
    const std::size_t learnt = arrivals.pods.size();
    const auto view = state.view();
    placements.learn(std::move(arrivals), *view);
    const auto rater = placements.rater_of(*ask);
    const PodAsk pod = view->joined(*ask);
    if (!ask->policy.empty()) {
        TRY(row, find_policy_option(ask->policy));
    }
    PodStory story{
        .pod = name,
        .on = found.node,
        .policy = std::string(row->name),
        .policy_source = ask->policy.empty() ? PodStory::Source::assumed : PodStory::Source::pod,
        .learns = row->mix != PolicyMix::none,
        .learnt = learnt,
        .gated = found.gated,
        .slips = found.slips,
        .gang = gang_sentence(state, *ask, offered(snapshot, at), placements),
        .nodes = stories_of(snapshot, at, facts, pod, *view, rater.get()),
    };
    sort(story.nodes, *view, rater != nullptr);
    return story;
}

}  // namespace tessera

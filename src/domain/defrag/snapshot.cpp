#include "domain/defrag/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace tessera::defrag {
namespace {

bool holds_cards(const PodFacts& pod) {
    return asks_for_gpus(pod) && !pod.node.empty() && !pod.finished;
}

// Nothing where it may be moved.
std::optional<std::string> why_it_stays(const Snapshot& snapshot, std::size_t i,
                                        const RaterOf& rater_of) {
    auto why = why_it_stays(snapshot.states[i], snapshot.budgets);
    if (why) return why;
    const auto ask = ask_of(snapshot.pods[i]);
    if (!ask) return "a request that makes no sense";
    // Its successor goes where its group is, whatever place the plan has found.
    if (!ask->request.empty() && rules_of(ask->request).together)
        return fmt::format("an annotation {}", kGpuTogether);
    const auto rater = rater_of(*ask);
    if (rater != nullptr && rater->is_by_lot())
        return "a policy that draws by lot where its new pod goes";
    return why;
}

std::set<NodeName> closed_of(const Snapshot& snapshot) {
    std::set<NodeName> out;
    for (const NodeTraits& node : snapshot.traits) {
        if (node.closed) out.insert(node.name);
    }
    return out;
}

// Most pods have the rules of many others: each is looked at once.
class BarredNodes {
  public:
    explicit BarredNodes(const Snapshot& snapshot) : snapshot_(snapshot) {}

    Barred of(const NodeRules& rules) {
        const auto [at, is_new] = known_.try_emplace(rules);
        if (!is_new) return at->second;
        auto barred = std::make_shared<std::set<NodeName>>();
        for (const NodeTraits& node : snapshot_.traits) {
            if (!may_run(rules, node)) barred->insert(node.name);
        }
        if (!barred->empty()) at->second = std::move(barred);
        return at->second;
    }

  private:
    const Snapshot& snapshot_;
    std::map<NodeRules, Barred> known_;
};

}  // namespace

Room room_of(const Snapshot& snapshot) {
    return room_of(Cluster{
        .nodes = state_of(snapshot).view()->nodes(), .closed = closed_of(snapshot), .movable = {}});
}

ClusterState state_of(const Snapshot& snapshot) {
    ClusterState state;
    for (const NodeInventory& node : snapshot.nodes)
        state.set_node(node);
    for (const PodGroup& group : snapshot.pod_groups)
        state.set_pod_group(group);
    for (const PodFacts& pod : snapshot.pods)
        state.set_pod(pod);
    for (const PodFacts& pod : snapshot.others)
        state.set_pod(pod);
    return state;
}

Cluster cluster_of(const Snapshot& snapshot, const RaterOf& rater_of) {
    Cluster out{
        .nodes = state_of(snapshot).view()->nodes(), .closed = closed_of(snapshot), .movable = {}};
    BarredNodes barred(snapshot);
    for (std::size_t i = 0; i < snapshot.pods.size(); ++i) {
        const PodFacts& pod = snapshot.pods[i];
        if (!holds_cards(pod) || why_it_stays(snapshot, i, rater_of)) continue;
        PodAsk ask = *ask_of(pod);
        auto rater = rater_of(ask);
        out.movable.push_back(
            {.ask = std::move(ask),
             .barred = barred.of(snapshot.states[i].nodes),
             .rater = std::move(rater),
             .made = replacement_by(*snapshot.states[i].owner, snapshot.waiting_jobs)});
    }
    return out;
}

std::map<std::string, int> stays_of(const Snapshot& snapshot, const RaterOf& rater_of) {
    std::map<std::string, int> out;
    for (std::size_t i = 0; i < snapshot.pods.size(); ++i) {
        if (!holds_cards(snapshot.pods[i])) continue;
        if (const auto why = why_it_stays(snapshot, i, rater_of)) ++out[*why];
    }
    return out;
}

Result<std::size_t> find_pod(const Snapshot& snapshot, const PodName& name) {
    const auto pod = std::ranges::find(snapshot.pods, name, &PodFacts::name);
    if (pod != snapshot.pods.end()) return static_cast<std::size_t>(pod - snapshot.pods.begin());
    return fail(Code::not_found,
                fmt::format("there is no pod {} in namespace {} that asks for GPUs", name.name,
                            name.space));
}

Result<RoomFor> find_waiting(const Snapshot& snapshot, const PodName& name) {
    TRY(const std::size_t at, find_pod(snapshot, name));
    const PodFacts& pod = snapshot.pods[at];
    const char* why = pod.finished        ? "has finished"
                      : pod.terminating   ? "is ending"
                      : !pod.node.empty() ? "is on a node already"
                      : pod.gated         ? "has scheduling gates"
                                          : nullptr;
    if (why != nullptr) return fail(Code::conflict, fmt::format("pod {} {}", name.str(), why));
    auto ask = ask_of(pod);
    if (!ask) return fail(ask.error().in("pod " + name.str()));
    if (ask->request.empty())
        return fail(Code::conflict, fmt::format("pod {} asks for no GPU", name.str()));
    return RoomFor{*std::move(ask), BarredNodes(snapshot).of(snapshot.states[at].nodes)};
}

}  // namespace tessera::defrag

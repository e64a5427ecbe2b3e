#include "app/sim/live_placer.hpp"

#include <numeric>
#include <utility>

#include "app/sim/trial.hpp"

namespace tessera {

LivePlacer::LivePlacer(const LiveCluster& cluster, const LiveScene& scene,
                       const FleetPolicyRow& policy, const ReplaySeeds& seeds)
    : cluster_(cluster),
      fleet_(scene.loads, 0, 0),
      company_(scene.company),
      policy_(policy.make({.mix = cluster.mix, .sampling_seed = seeds.sampling})),
      index_(fleet_, *policy_),
      draws_(static_cast<std::uint64_t>(seeds.draws)),
      all_nodes_(fleet_.size()) {
    std::iota(all_nodes_.begin(), all_nodes_.end(), std::size_t{0});
}

void LivePlacer::arrived(const LivePod& pod) {
    for (const Task& task : pod.learnt)
        index_.arrived(task);
}

bool LivePlacer::place(const LiveGroup& group) {
    for (const std::size_t pod : group.pods)
        arrived(cluster_.pods[pod]);
    if (static_cast<int>(group.pods.size()) < group.size) return false;
    Trial trial(fleet_);
    CompanyTrial company(company_);
    std::map<std::size_t, LivePlace> found;
    for (const std::size_t at : group.pods) {
        const LivePod& pod = cluster_.pods[at];
        const auto choice = choose(pod);
        if (!choice) return false;
        LivePlace& place = found[at];
        place.placed.node = static_cast<std::int32_t>(choice->node);
        for (std::size_t i = 0; i < choice->tasks.size(); ++i) {
            trial.place(choice->node, choice->tasks[i], choice->cards[i]);
            place.placed.cards = static_cast<CardSet>(place.placed.cards | choice->cards[i]);
            place.milli += milli_of(choice->tasks[i]);
        }
        if (!pod.rules().groups().empty()) {
            company.add(choice->node, company_.tenant_on(choice->node, place.placed.cards,
                                                         pod.rules(), pod.ask.uid));
        }
    }
    trial.keep();
    company.keep();
    places_.merge(found);
    return true;
}

std::optional<LivePlacer::Choice> LivePlacer::choose(const LivePod& pod) {
    const std::uint64_t draw = draws_();
    std::optional<Choice> best = choose_by_cards(pod, draw);
    if (pod.needs_cards_looked_at) return best;
    for (const LiveVariant& variant : pod.variants) {
        if (variant.tasks.size() == 1)
            take_better(best, choose_by_index(variant.tasks.front(), draw), draw);
    }
    return best;
}

std::optional<LivePlacer::Choice> LivePlacer::choose_by_index(const Task& task,
                                                              std::uint64_t draw) {
    const auto decision = index_.choose(task, draw);
    if (!decision) return std::nullopt;
    return Choice{decision->node, decision->rating.score, {task}, {decision->rating.cards}};
}

// Nodes whose cards are not all alike to the pod, and all nodes for pods of several containers with
// GPUs, which are few.
std::optional<LivePlacer::Choice> LivePlacer::choose_by_cards(const LivePod& pod,
                                                              std::uint64_t draw) {
    const bool is_any_node = pod.needs_cards_looked_at || pod.ask.request.size() > 1;
    const std::span<const std::size_t> nodes =
        is_any_node ? all_nodes_ : cluster_.cards_of_nodes.mixed_nodes();
    const CardRules rules = company_.joined(pod.rules(), pod.ask.uid);
    Admission admission(rules);
    std::optional<Choice> best;
    for (const std::size_t node : nodes) {
        const CardSet admitted = company_.admitted(admission, node);
        for (std::size_t size = 0; size < pod.variants.size(); ++size) {
            const CardSet of_size = cluster_.cards_of_nodes.cards_of_size(node, size);
            if (pod.variants[size].tasks.empty() || of_size == 0) continue;
            const auto cards = static_cast<CardSet>(pod.is_whole ? admitted : admitted & of_size);
            take_better(best, rate(node, pod.variants[size].tasks, cards, rules.link, draw), draw);
            if (pod.is_whole) break;
        }
    }
    return best;
}

// What of the load the task may take its cards from, in the order of the controller's CardSets: all
// of it where it insists on no link; nothing where it does, and no cards linked so have the room.
std::optional<NodeLoad> LivePlacer::linked(std::size_t node, const NodeLoad& load, const Task& task,
                                           std::optional<Link> link) const {
    if (!link || task.count < 2) return can_take(load, task) ? std::optional(load) : std::nullopt;
    const std::vector<Island>& islands = cluster_.islands[node];
    std::optional<NodeLoad> best;
    std::size_t best_alike = 0;
    std::size_t alike = 0;  // the first of those that are
    for (std::size_t i = 0; i < islands.size(); ++i) {
        const bool is_alike = islands[i].links == islands[alike].links &&
                              islands[i].crossed == islands[alike].crossed;
        if (!is_alike) alike = i;
        if (best && best_alike != alike) break;
        if (!islands[i].has(*link)) continue;
        NodeLoad there = only(load, static_cast<CardSet>(islands[i].cards));
        if (!can_take(there, task)) continue;
        if (best && best->free_milli() <= there.free_milli()) continue;
        best = std::move(there);
        best_alike = alike;
    }
    return best;
}

// As the controller has it: the score is the sum of what each would score alone, of a single
// container by the cards that it would get, and the cards are chosen for one after the other.
std::optional<LivePlacer::Choice> LivePlacer::rate(std::size_t node, const std::vector<Task>& tasks,
                                                   CardSet cards, std::optional<Link> link,
                                                   std::uint64_t draw) {
    Choice choice{.node = node};
    const NodeLoad before = only(fleet_.load(node), cards);
    NodeLoad load = before;
    for (Task task : tasks) {
        task.models = kAnyModel;  // the cards are of models that are admitted
        const auto shown = linked(node, load, task, link);
        if (!shown) return std::nullopt;
        const NodeLoad& scored = tasks.size() == 1 ? *shown : before;
        choice.score += policy_->rate(scored, task, draw).score;
        choice.cards.push_back(policy_->rate(*shown, task, draw).cards);
        load = load_after(load, task, choice.cards.back());
        choice.tasks.push_back(task);
    }
    return choice;
}

// Among equals the first in order wins, or any, by lot, as the policy says.
void LivePlacer::take_better(std::optional<Choice>& best, std::optional<Choice> other,
                             std::uint64_t draw) const {
    if (!other) return;
    const auto comes_first = [&](std::size_t node, std::size_t before) {
        if (policy_->tie() == Tie::first_in_order) return node < before;
        const auto lot = [&](std::size_t of) { return (draw ^ of) * 0xD6E8FEB86659FD93U; };
        return lot(node) > lot(before);
    };
    const bool is_better = !best || other->score > best->score ||
                           (other->score == best->score && comes_first(other->node, best->node));
    if (is_better) best = std::move(other);
}

}  // namespace tessera

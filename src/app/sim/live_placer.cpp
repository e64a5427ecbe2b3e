#include "app/sim/live_placer.hpp"

#include <numeric>
#include <utility>

#include "app/sim/trial.hpp"
#include "domain/placement/card_choice.hpp"

namespace tessera {
namespace {

// Whether each task finds that much on these cards of its own; false where there are none.
bool has_room(NodeLoad load, const std::vector<Task>& tasks, const std::vector<CardSet>& cards) {
    if (cards.empty()) return false;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (!can_take(only(load, cards[i]), tasks[i])) return false;
        load = load_after(load, tasks[i], cards[i]);
    }
    return true;
}

// In thousandths: what a replay knows of cards.
CardMask open_to(const NodeLoad& load, const Task& task) {
    CardMask out = 0;
    for (std::size_t card = 0; card < static_cast<std::size_t>(load.cards); ++card) {
        if (load.milli.at(card) >= task.milli) out |= CardMask{1} << card;
    }
    return out;
}

}  // namespace

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
        company.add(choice->node, company_.tenant_on(choice->node, pod.ask, choice->cards));
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
            take_better(best, choose_by_index(pod, variant.tasks.front(), draw), draw);
    }
    return best;
}

std::optional<LivePlacer::Choice> LivePlacer::choose_by_index(const LivePod& pod, const Task& task,
                                                              std::uint64_t draw) {
    const auto decision = index_.choose(task, draw);
    if (!decision) return std::nullopt;
    CardSet cards = decision->rating.cards;
    if (!company_.offer(decision->node).islands.empty()) {
        const GpuRequest& gpu = pod.ask.request.front().gpu;
        cards = *cards_of(decision->node, fleet_.load(decision->node), task, gpu, draw);
    }
    return Choice{decision->node, decision->rating.score, {task}, {cards}};
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
            take_better(best, rate(node, pod, pod.variants[size].tasks, cards, draw), draw);
            if (pod.is_whole) break;
        }
    }
    return best;
}

// What of the load the task takes its cards from; nothing where no set of cards has the room.
std::optional<NodeLoad> LivePlacer::near(std::size_t node, const NodeLoad& load, const Task& task,
                                         const GpuRequest& gpu) {
    const auto among = first_with_room(sets_, company_.offer(node), gpu, open_to(load, task));
    if (!among) return std::nullopt;
    return only(load, static_cast<CardSet>(*among));
}

std::optional<CardSet> LivePlacer::cards_of(std::size_t node, const NodeLoad& load,
                                            const Task& task, const GpuRequest& gpu,
                                            std::uint64_t draw) {
    return tessera::choose_cards(sets_,
                                 {.offer = company_.offer(node),
                                  .load = load,
                                  .gpu = gpu,
                                  .task = task,
                                  .open = open_to(load, task)},
                                 *policy_, draw);
}

// As the controller has it: a pod of several containers fits where the Placer finds that it does;
// the score is the sum of what each would score alone, of a single container that insists on a link
// by the cards that it would get; and the cards are the policy's or, where it finds none for some
// container, the Placer's.
std::optional<LivePlacer::Choice> LivePlacer::rate(std::size_t node, const LivePod& pod,
                                                   const std::vector<Task>& tasks, CardSet cards,
                                                   std::uint64_t draw) {
    Choice choice{.node = node, .tasks = tasks};
    const NodeLoad load = only(fleet_.load(node), cards);
    for (Task& task : choice.tasks) {
        task.models = kAnyModel;  // the cards are of models that are admitted
        if (!can_take(load, task)) return std::nullopt;
        const bool is_near = tasks.size() == 1 && pod.insists_on_link();
        const auto from = is_near ? near(node, load, task, pod.ask.request.front().gpu) : load;
        if (!from) return std::nullopt;
        choice.score += policy_->rate(*from, task, draw_of_cards(draw)).score;
    }
    const auto fit = tasks.size() > 1 ? placer_fit(node, pod) : std::vector<CardSet>();
    if (tasks.size() > 1 && fit.empty()) return std::nullopt;
    if (choose_cards(choice, load, pod, draw)) return choice;
    if (!has_room(load, choice.tasks, fit)) return std::nullopt;
    choice.cards = fit;
    return choice;
}

bool LivePlacer::choose_cards(Choice& choice, NodeLoad load, const LivePod& pod,
                              std::uint64_t draw) {
    for (std::size_t i = 0; i < choice.tasks.size(); ++i) {
        const Task& task = choice.tasks[i];
        const auto cards = cards_of(choice.node, load, task, pod.ask.request[i].gpu, draw);
        if (!cards) return false;
        choice.cards.push_back(*cards);
        load = load_after(load, task, choice.cards.back());
    }
    return true;
}

// By container; none where it finds no room.
std::vector<CardSet> LivePlacer::placer_fit(std::size_t node, const LivePod& pod) const {
    PodRequest request = pod.ask.request;
    for (ContainerRequest& container : request)
        container.gpu.rules = company_.joined(container.gpu.rules, pod.ask.uid);
    Offer offer = company_.offer(node);
    const std::vector<Bytes> free = free_of(offer.cards);
    offer.free = free;
    Placer placer(request);
    const Fit* fit = placer.try_node(offer);
    if (fit == nullptr) return {};
    std::vector<CardSet> out;
    auto card = fit->cards.begin();
    for (const ContainerRequest& container : request) {
        CardSet of_container = 0;
        for (int i = 0; i < container.gpu.gpus; ++i)
            of_container = static_cast<CardSet>(of_container | card_bit(*card++));
        out.push_back(of_container);
    }
    return out;
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

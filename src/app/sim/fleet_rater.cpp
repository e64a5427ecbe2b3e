#include "app/sim/fleet_rater.hpp"

#include "domain/placement/engine_terms.hpp"

namespace tessera {

std::optional<FleetRater::Asked> FleetRater::asked_of(const NodeView& node, const Offer& room,
                                                      const PodAsk& pod) const {
    if (room.cards.empty()) return std::nullopt;
    const auto tasks = tasks_of(pod, room.unit, room.cards.front().capacity);
    if (!tasks) return std::nullopt;
    Asked asked{tasks->front(), with_cards(node.load, room.cards)};
    asked.task.models = models_;
    if (!can_take_but_memory(asked.load, asked.task)) return std::nullopt;
    return asked;
}

std::vector<std::int64_t> FleetRater::rate(const ClusterView& view,
                                           std::span<const std::uint32_t> positions,
                                           const PodAsk& pod) const {
    std::vector<std::int64_t> out;
    out.reserve(positions.size());
    for (const std::uint32_t position : positions) {
        const NodeView& node = *view.row(position).node;
        out.push_back(rate_room(node, node.offer(), pod));
    }
    return out;
}

std::int64_t FleetRater::rate_room(const NodeView& node, const Offer& room,
                                   const PodAsk& pod) const {
    const auto asked = asked_of(node, room, pod);
    return asked ? index_.score_of(asked->load, asked->task) : kLast;
}

std::optional<Fit> FleetRater::choose(const NodeView& node, const Offer& room,
                                      const PodAsk& pod) const {
    const auto asked = asked_of(node, room, pod);
    if (!asked) return std::nullopt;
    const CardSet cards = policy_.rate(asked->load, asked->task, 0).cards;
    Fit fit;
    for (int card = 0; card < asked->load.cards; ++card) {
        if ((cards & card_bit(card)) != 0) fit.cards.push_back(card);
    }
    return fit;
}

std::vector<ScoreTerm> FleetRater::terms(const NodeView& node, const Offer& room,
                                         const PodAsk& pod) const {
    const auto asked = asked_of(node, room, pod);
    return asked ? policy_.terms(asked->load, asked->task) : std::vector<ScoreTerm>();
}

}  // namespace tessera

#include "domain/placement/given_cards.hpp"

namespace tessera {

std::optional<Fit> given_cards(const NodeView& node, const PodAsk& pod, const Asker& asker,
                               const NodeRater* rater) {
    const std::vector<Card> left = cards_left(node, asker);
    const RoomLeft room(left);
    Placer placer(pod.request);
    const Fit* best = placer.try_node(room.offer(node));
    if (best == nullptr) return std::nullopt;
    auto rated = rater == nullptr ? std::nullopt : rater->choose(node, room.offer(node), pod);
    if (!rated) return *best;
    // What is kept for those behind the pod was found with the best fit's cards for it.
    const auto behind = [&](const Fit& cards) {
        return room_behind(
            node, asker,
            containers_of(pod.request, cards, node.inventory.gpus, node.inventory.unit), left);
    };
    return node.nominees.empty() || behind(*rated) >= behind(*best) ? rated : *best;
}

}  // namespace tessera

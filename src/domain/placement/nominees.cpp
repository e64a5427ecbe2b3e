#include "domain/placement/nominees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace tessera {
namespace {

// Those that come before the pod: they are in order, and who is one of them comes before the ones
// after it. Were each of two equals kept from the other's room, none would have it.
std::span<const PodAskPtr> before(const NodeView& node, const Asker& pod) {
    const auto end = std::ranges::find_if(node.nominees, [&](const PodAskPtr& nominee) {
        return nominee->priority < pod.priority || nominee->uid == pod.uid;
    });
    return {node.nominees.begin(), end};
}

// Whether the pod fits, and then it is there.
bool take_room(const NodeView& node, const PodAsk& pod, std::vector<Card>& cards) {
    const RoomLeft room(cards);
    Placer placer(pod.request);
    const Fit* fit = placer.try_node(room.offer(node));
    if (fit == nullptr) return false;
    Tenant there;
    there.holds = holds(containers_of(pod.request, *fit, node.inventory.gpus, node.inventory.unit));
    there.groups = rules_of(pod.request).groups();
    count_holds(there, node.inventory.gpus, cards, 1);
    return true;
}

}  // namespace

RoomLeft::RoomLeft(std::vector<Card> cards) : cards_(std::move(cards)), free_(free_of(cards_)) {}

Offer RoomLeft::offer(const NodeView& node) const {
    Offer offer = node.offer();
    offer.cards = cards_;
    offer.free = free_;
    return offer;
}

void count_nominees(const NodeView& node, const Asker& pod, std::vector<Card>& cards) {
    for (const PodAskPtr& nominee : before(node, pod))
        take_room(node, *nominee, cards);
}

std::size_t room_behind(const NodeView& node, const Asker& pod,
                        const std::vector<ContainerAllocation>& taken, std::vector<Card> cards) {
    Tenant there;
    there.holds = holds(taken);
    count_holds(there, node.inventory.gpus, cards, 1);
    std::size_t count = 0;
    for (const PodAskPtr& nominee : std::span(node.nominees).subspan(before(node, pod).size())) {
        if (nominee->uid != pod.uid) count += take_room(node, *nominee, cards) ? 1 : 0;
    }
    return count;
}

std::vector<Card> cards_left(const NodeView& node, const Asker& pod) {
    std::vector<Card> cards = node.cards;
    if (before(node, pod).empty()) return cards;
    for (const TenantPtr& tenant : node.tenants) {
        if (tenant->terminating) count_holds(*tenant, node.inventory.gpus, cards, -1);
    }
    count_nominees(node, pod, cards);
    // What is ending holds its room still.
    for (std::size_t i = 0; i < cards.size(); ++i) {
        Card& card = cards[i];
        const Card& now = node.cards[i];
        card.held = std::max(card.held, now.held);
        card.cores_held = std::max(card.cores_held, now.cores_held);
        card.holders = std::max(card.holders, now.holders);
        for (const CardGroup group : now.groups) {
            if (std::ranges::find(card.groups, group) == card.groups.end())
                card.groups.push_back(group);
        }
    }
    return cards;
}

const Fit* try_left(Placer& placer, const NodeView& node, const Asker& pod) {
    if (before(node, pod).empty()) return placer.try_node(node.offer());
    return placer.try_node(RoomLeft(cards_left(node, pod)).offer(node));
}

std::string kept_for(const NodeView& node, const Asker& pod, const Reader& reader) {
    const auto nominees = before(node, pod);
    if (nominees.empty()) return "the room on this node is kept for another pod";
    const PodAsk& first = *nominees.front();
    return fmt::format(
        "the room on this node is kept for {}{}, for which others are ended",
        reader.words_for(first.name),
        reader.sees(first.name) ? fmt::format(" of priority {}", first.priority) : "");
}

std::string blocked_for(const NodeView& node, const Reader& reader) {
    const bool is_named = node.blocked_by && reader.sees(node.blocked_by->pod);
    return is_named ? node.blocked_by->why : node.blocked;
}

}  // namespace tessera

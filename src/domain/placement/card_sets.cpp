#include "domain/placement/card_sets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace tessera {
namespace {

Bytes free_in(const Offer& offer, CardMask cards) {
    Bytes sum;
    for (std::size_t card = 0; card < offer.cards.size(); ++card) {
        if (is_among(cards, card)) sum += offer.cards[card].free();
    }
    return sum;
}

bool is_idle(const Card& card) {
    return card.healthy && card.holders == 0 && card.held + card.excess == Bytes{};
}

// Idle cards of the largest island with `card`, for each link.
std::array<int, kLinks.size()> missed_with(std::span<const Island> islands, CardMask idle,
                                           std::size_t card) {
    std::array<int, kLinks.size()> out{};
    for (const Island& island : islands) {
        if (!is_among(island.cards, card)) continue;
        int& most = out.at(static_cast<std::size_t>(island.link));
        most = std::max(most, std::popcount(island.cards & idle));
    }
    return out;
}

}  // namespace

bool takes_any_cards(const Offer& offer, const GpuRequest& gpu) {
    return gpu.gpus == 1 || (offer.islands.empty() && !gpu.rules.links);
}

std::vector<CardMask> card_sets(const Offer& offer, const GpuRequest& gpu) {
    if (takes_any_cards(offer, gpu)) return {kAnyCards};
    struct Choice {
        Link link;
        Bytes free;
        CardMask cards;
    };
    std::vector<Choice> choices;
    for (const Island& island : offer.islands) {
        if (std::popcount(island.cards) < gpu.gpus) continue;
        if (gpu.rules.links && island.link != *gpu.rules.links) continue;
        choices.push_back({island.link, free_in(offer, island.cards), island.cards});
    }
    std::ranges::stable_sort(choices, {},
                             [](const Choice& of) { return std::pair(of.link, of.free); });
    std::vector<CardMask> sets;
    sets.reserve(choices.size() + 1);
    for (const Choice& choice : choices)
        sets.push_back(choice.cards);
    if (!gpu.rules.links) sets.push_back(kAnyCards);
    return sets;
}

std::size_t least_missed(const Offer& offer, std::size_t card,
                         const std::function<bool(std::size_t)>& may_take) {
    if (offer.islands.empty() || !is_idle(offer.cards[card])) return card;
    CardMask idle = 0;
    for (std::size_t i = 0; i < offer.cards.size(); ++i) {
        if (is_idle(offer.cards[i])) idle |= CardMask{1} << i;
    }
    std::size_t best = card;
    auto least = missed_with(offer.islands, idle, card);
    for (std::size_t i = 0; i < offer.cards.size(); ++i) {
        const bool is_alike = is_among(idle, i) &&
                              offer.cards[i].capacity == offer.cards[card].capacity &&
                              offer.gpus[i].model == offer.gpus[card].model;
        if (!is_alike || !may_take(i)) continue;
        const auto missed = missed_with(offer.islands, idle, i);
        if (missed >= least) continue;
        best = i;
        least = missed;
    }
    return best;
}

}  // namespace tessera

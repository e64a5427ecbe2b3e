#include "domain/placement/card_sets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <tuple>

namespace tessera {
namespace {

bool is_idle(const Card& card) {
    return card.usable && card.holders == 0 && card.held + card.excess == Bytes{};
}

// Idle cards of the largest island with `card`, for each set of links, the nearest first.
std::array<int, 1U << kLinks.size()> missed_with(std::span<const Island> islands, CardMask idle,
                                                 std::size_t card) {
    std::array<int, 1U << kLinks.size()> out{};
    for (const Island& island : islands) {
        if (!is_among(island.cards, card)) continue;
        int& most = out.at(out.size() - 1 - island.links);
        most = std::max(most, std::popcount(island.cards & idle));
    }
    return out;
}

bool are_alike(const Island& a, const Island& b) {
    return a.links == b.links && a.crossed == b.crossed;
}

}  // namespace

std::span<const CardMask> CardSets::of(const Offer& offer, const GpuRequest& gpu,
                                       Nearness nearness) {
    sets_.clear();
    const std::optional<Link> link = gpu.gpus > 1 ? gpu.rules.link : std::nullopt;
    const bool looks = gpu.gpus > 1 && (link || nearness == Nearness::preferred);
    choices_.clear();
    std::size_t first = 0;
    for (std::size_t i = 0; looks && i < offer.islands.size(); ++i) {
        const Island& island = offer.islands[i];
        if (!are_alike(island, offer.islands[first])) first = i;
        if (link && !island.has(*link)) continue;
        Bytes free;
        int with_some = 0;
        for (CardMask left = island.cards; left != 0; left &= left - 1) {
            const Bytes of = offer.cards[static_cast<std::size_t>(std::countr_zero(left))].free();
            free += of;
            with_some += of > Bytes{} ? 1 : 0;
        }
        if (with_some >= gpu.gpus) choices_.push_back({first, free, island.cards});
    }
    std::ranges::sort(choices_, {},
                      [](const Choice& of) { return std::tuple(of.island, of.free, of.cards); });
    for (const Choice& choice : choices_)
        sets_.push_back(choice.cards);
    if (!link) sets_.push_back(kAnyCards);
    return sets_;
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

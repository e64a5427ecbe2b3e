#include "domain/placement/card_choice.hpp"

#include <bit>

namespace tessera {

std::optional<CardMask> first_with_room(CardSets& sets, const Offer& offer, const GpuRequest& gpu,
                                        CardMask open) {
    for (const CardMask among : sets.of(offer, gpu, Nearness::preferred)) {
        if (std::popcount(open & among) >= gpu.gpus) return among;
    }
    return std::nullopt;
}

std::optional<CardSet> choose_cards(CardSets& sets, const CardQuestion& asked, FleetPolicy& policy,
                                    std::uint64_t draw) {
    const auto among = first_with_room(sets, asked.offer, asked.gpu, asked.open);
    if (!among) return std::nullopt;
    // The policy looks at thousandths: where what it chooses has no room in bytes, it chooses once
    // more among those that have it. Farther cards are not for it to turn to.
    for (const CardMask shown : {*among, asked.open & *among}) {
        const NodeLoad load = only(asked.load, static_cast<CardSet>(shown));
        if (!can_take_but_memory(load, asked.task)) break;
        const CardSet cards = policy.rate(load, asked.task, draw_of_cards(draw)).cards;
        if ((cards & ~asked.open) != 0) continue;
        if (asked.task.count > 1) return cards;
        const auto first = static_cast<std::size_t>(std::countr_zero(cards));
        const auto may_take = [&](std::size_t card) {
            return is_among(asked.open, card) && load.milli.at(card) == load.milli.at(first);
        };
        return card_bit(static_cast<int>(least_missed(asked.offer, first, may_take)));
    }
    return std::nullopt;
}

}  // namespace tessera

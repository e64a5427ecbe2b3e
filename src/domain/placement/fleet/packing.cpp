#include "domain/placement/fleet/packing.hpp"

#include <algorithm>

namespace tessera {
namespace {

class Packing final : public FleetPolicy {
  public:
    [[nodiscard]] std::unique_ptr<FleetPolicy> copy() const override {
        return std::make_unique<Packing>(*this);
    }

    [[nodiscard]] Rating rate(const NodeLoad& load, const Task& task, std::uint64_t) override {
        if (task.count == 0) return {};
        const CardSet cards = tightest_cards(load, task);
        int free_cards = 0;
        int free_cards_taken = 0;
        int percent_free = 0;
        for (int card = 0; card < load.cards; ++card) {
            const int free = load.milli[static_cast<std::size_t>(card)];
            const bool is_taken = (cards & card_bit(card)) != 0;
            free_cards += free == kMilliPerCard ? 1 : 0;
            free_cards_taken += is_taken && free == kMilliPerCard ? 1 : 0;
            percent_free += is_taken ? free * 100 / kMilliPerCard : 0;
        }
        if (free_cards == load.cards) return {std::max(33 - free_cards, free_cards), cards};
        if (free_cards_taken > 0) return {std::max(50 - free_cards_taken, 33), cards};
        return {std::max(100 - percent_free / 10, 50), cards};
    }
};

}  // namespace

std::unique_ptr<FleetPolicy> packing_policy(const PolicyInputs&) {
    return std::make_unique<Packing>();
}

}  // namespace tessera

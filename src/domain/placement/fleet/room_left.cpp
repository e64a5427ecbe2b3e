#include "domain/placement/fleet/room_left.hpp"

#include "base/check.hpp"

namespace tessera {
namespace {

CardSet emptiest_cards(const NodeLoad& load, const Task& task) {
    CardSet chosen = 0;
    for (int taken = 0; taken < task.count; ++taken) {
        int best = -1;
        for (int card = 0; card < load.cards; ++card) {
            if ((chosen & card_bit(card)) != 0) continue;
            const bool is_emptier = best < 0 || load.milli[static_cast<std::size_t>(card)] >
                                                    load.milli[static_cast<std::size_t>(best)];
            if (is_emptier) best = card;
        }
        TESSERA_CHECK(best >= 0, "only a node that can take the task is asked for cards");
        chosen = static_cast<CardSet>(chosen | card_bit(best));
    }
    return chosen;
}

std::int32_t left_on(const NodeLoad& load, const Task& task, CardSet cards) {
    std::int32_t left = 0;
    for (int card = 0; card < load.cards; ++card) {
        if ((cards & card_bit(card)) != 0)
            left += load.milli[static_cast<std::size_t>(card)] - task.milli;
    }
    return left;
}

class ByRoomLeft final : public FleetPolicy {
  public:
    explicit ByRoomLeft(bool packs) : packs_(packs) {}

    [[nodiscard]] std::unique_ptr<FleetPolicy> copy() const override {
        return std::make_unique<ByRoomLeft>(*this);
    }

    [[nodiscard]] Rating rate(const NodeLoad& load, const Task& task, std::uint64_t) override {
        const CardSet cards = packs_ ? tightest_cards(load, task) : emptiest_cards(load, task);
        const std::int32_t left =
            task.count == 0 ? load.cpu_milli - task.cpu_milli : left_on(load, task, cards);
        return {packs_ ? -left : left, cards};
    }

  private:
    const bool packs_;
};

}  // namespace

std::unique_ptr<FleetPolicy> binpack_fleet_policy(const PolicyInputs&) {
    return std::make_unique<ByRoomLeft>(true);
}

std::unique_ptr<FleetPolicy> spread_fleet_policy(const PolicyInputs&) {
    return std::make_unique<ByRoomLeft>(false);
}

}  // namespace tessera

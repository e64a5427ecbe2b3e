#include "domain/placement/fleet/random.hpp"

#include <array>

namespace tessera {
namespace {

// The draw's remainder chooses among what is left, its quotient is the draw for the next card.
CardSet any_cards(const NodeLoad& load, const Task& task, std::uint64_t draw) {
    std::array<int, kMaxCards> fitting{};
    std::size_t left = 0;
    for (int card = 0; card < load.cards; ++card) {
        if (load.milli[static_cast<std::size_t>(card)] >= task.milli) fitting[left++] = card;
    }
    CardSet chosen = 0;
    for (int taken = 0; taken < task.count; ++taken) {
        const auto at = static_cast<std::size_t>(draw % left);
        draw /= left;
        chosen = static_cast<CardSet>(chosen | card_bit(fitting[at]));
        fitting[at] = fitting[--left];
    }
    return chosen;
}

class Random final : public FleetPolicy {
  public:
    [[nodiscard]] std::unique_ptr<FleetPolicy> copy() const override {
        return std::make_unique<Random>(*this);
    }

    [[nodiscard]] Rating rate(const NodeLoad& load, const Task& task, std::uint64_t draw) override {
        return {0, any_cards(load, task, draw)};
    }
    [[nodiscard]] Tie tie() const override { return Tie::any; }
};

}  // namespace

std::unique_ptr<FleetPolicy> random_policy(const PolicyInputs&) {
    return std::make_unique<Random>();
}

}  // namespace tessera

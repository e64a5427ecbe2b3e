// H(n), what the free pieces of a node's cards are worth to the mix when the sizes of the tasks are
// scarce: CPU left out.
//     H(n) = sum over the cards of h(what is free),
//     h(x) = the largest sum of (size - pi(size)) of tasks that fit into x
// pi is what a task of a size is worth elsewhere: the dual prices of the linear program that cuts
// whole cards into the sizes of the mix,
//     max  sum over cuts k of milli(k) x(k)
//     s.t. sum over k of pieces(k, size) x(k) <= demand(size),  sum over k of x(k) <= 1,  x >= 0
// per card, with demands that add up to one card. Cutting-stock program and its pricing by a
// knapsack: Gilmore and Gomory, Operations Research 9 (1961); the prices by subgradient descent on
// the dual function, mean of the later half of the steps. Sizes are rounded up to kGrain.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// One thread.
class PieceValue {
  public:
    // Prices for this mix. The steps go on from the prices of the mix before.
    void learn(std::span<const MixClass> mix);

    // Thousandths of a card. 0 before learn().
    [[nodiscard]] std::int32_t of(const NodeLoad& load) const;
    [[nodiscard]] std::int32_t of_piece(std::int16_t free_milli) const {
        return value_[static_cast<std::size_t>(free_milli / kGrain)];
    }

  private:
    static constexpr int kGrain = 10;  // thousandths of a card
    static constexpr std::size_t kCells = kMilliPerCard / kGrain;
    using Table = std::array<double, kCells + 1>;

    [[nodiscard]] bool note_demand(std::span<const MixClass> mix);
    void step(double length);
    [[nodiscard]] Table knapsack(const Table& prices) const;

    Table demand_{};  // pieces of a size (in grains) per card
    Table prices_{};
    std::array<std::int32_t, kCells + 1> value_{};  // h, by what is free in grains
    bool has_prices_ = false;
};

}  // namespace tessera

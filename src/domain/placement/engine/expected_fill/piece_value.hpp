// H(n): the value of the free pieces of a node's GPUs for the mix, if the sizes of the tasks are
// scarce. CPU is ignored.
//
//     H(n) = sum over the GPUs of h(what is free)
//     h(x) = the largest sum of (size - pi(size)) of tasks that fit into x
//
// pi(size) is the value of a task of that size elsewhere: the dual prices of the linear program
// that cuts whole GPUs into the sizes of the mix. Per GPU, with demands that add up to one GPU, it
// is
//
//     max  sum over cuts k of milli(k) x(k)
//     s.t. sum over k of pieces(k, size) x(k) <= demand(size),  sum over k of x(k) <= 1,  x >= 0
//
// Cutting-stock program and its pricing by a knapsack: Gilmore and Gomory, Operations Research 9
// (1961). The prices come from subgradient descent on the dual function: the mean of the later half
// of the steps. Sizes are rounded up to kGrain.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "domain/placement/engine/mix.hpp"
#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// Used by one thread.
class PieceValue {
  public:
    // Computes prices for this mix. The steps start from the prices of the previous mix.
    void learn(std::span<const MixClass> mix);

    // Thousandths of a GPU. 0 before learn().
    [[nodiscard]] std::int32_t of(const NodeLoad& load) const;
    [[nodiscard]] std::int32_t of_piece(std::int16_t free_milli) const {
        return value_[static_cast<std::size_t>(free_milli / kGrain)];
    }

  private:
    static constexpr int kGrain = 10;  // thousandths of a GPU
    static constexpr std::size_t kCells = kMilliPerGpu / kGrain;
    using Table = std::array<double, kCells + 1>;

    [[nodiscard]] bool note_demand(std::span<const MixClass> mix);
    void step(double length);
    [[nodiscard]] Table knapsack(const Table& prices) const;

    Table demand_{};  // pieces of a size (in grains) per GPU
    Table prices_{};
    std::array<std::int32_t, kCells + 1> value_{};  // h, by the free grains
    bool has_prices_ = false;
};

}  // namespace tessera

// H(n): the value, for the tasks of the mix, of what is free on each of a node's GPUs. A free
// amount that the sizes of the mix fill badly has a low value. CPU is ignored.
//
//     H(n) = sum over the GPUs of h(what is free)
//     h(f) = the largest sum of (size - pi(size)) of tasks whose sizes add up to at most f; a size
//            may occur several times. Rounded down
//
// pi(size) is the dual price of the demand for that size in the linear program that cuts whole GPUs
// into the sizes of the mix:
//
//     max  sum over patterns k of milli(k) x(k)
//     s.t. sum over k of pieces(k, size) x(k) <= demand(size),  sum over k of x(k) <= 1,  x >= 0
//
// A pattern k is one way to cut a GPU: pieces(k, size) is how often it has a size, milli(k) the sum
// of its sizes, and x(k) the fraction of the GPUs that are cut that way. demand(size) is the number
// of tasks of that size per GPU, scaled so that all of them add up to one GPU. A task of several
// GPUs counts as that many tasks.
//
// Cutting-stock program and its pricing by a knapsack: Gilmore and Gomory, Operations Research 9
// (1961). The prices minimise the Lagrangian dual function by a projected subgradient method; they
// are the mean over the later half of its steps. Sizes are rounded up, and free amounts down, to
// kGrain.
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
    // Computes prices for this mix, starting from those of the previous mix. A mix without requests
    // of GPUs changes nothing.
    void learn(std::span<const MixClass> mix);

    // Thousandths of a GPU. 0 before learn(). `free_milli`: 0 to kMilliPerGpu.
    [[nodiscard]] std::int32_t of(const NodeLoad& load) const;
    [[nodiscard]] std::int32_t of_piece(std::int16_t free_milli) const {
        return value_[static_cast<std::size_t>(free_milli / kGrain)];
    }

  private:
    static constexpr int kGrain = 10;  // thousandths of a GPU
    static constexpr std::size_t kCells = kMilliPerGpu / kGrain;
    using Table = std::array<double, kCells + 1>;

    // False if the mix requests no GPU.
    [[nodiscard]] bool note_demand(std::span<const MixClass> mix);
    void step(double length);
    [[nodiscard]] Table knapsack(const Table& prices) const;

    Table demand_{};  // pieces of a size (in grains) per GPU
    Table prices_{};
    std::array<std::int32_t, kCells + 1> value_{};  // h, by the free grains
    bool has_prices_ = false;
};

}  // namespace tessera

#include "domain/placement/engine/expected_fill/piece_value.hpp"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int kFirstSteps = 2'500;
constexpr int kLaterSteps = 400;  // starting from the prices of a similar mix
constexpr double kStep =
    200;  // thousandths of a GPU, divided by the square root of the step's number

}  // namespace

bool PieceValue::note_demand(std::span<const MixClass> mix) {
    demand_.fill(0);
    double milli = 0;
    for (const MixClass& m : mix) {
        if (m.count == 0 || m.milli <= 0) continue;
        demand_[static_cast<std::size_t>((m.milli + kGrain - 1) / kGrain)] += m.share * m.count;
        milli += m.share * m.count * m.milli;
    }
    if (milli <= 0) return false;
    for (double& demand : demand_)
        demand *= kMilliPerGpu / milli;
    return true;
}

// The best value for each number of grains; each size may be used any number of times.
PieceValue::Table PieceValue::knapsack(const Table& prices) const {
    Table best{};
    for (std::size_t size = 1; size <= kCells; ++size) {
        if (demand_[size] <= 0) continue;
        const double net = static_cast<double>(size * kGrain) - prices[size];
        if (net <= 0) continue;
        for (std::size_t free = size; free <= kCells; ++free)
            best[free] = std::max(best[free], best[free - size] + net);
    }
    return best;
}

// A step against the subgradient: a size that the best cut of a GPU has more often than its demand
// gets a higher price, all others a lower one.
void PieceValue::step(double length) {
    const Table best = knapsack(prices_);
    std::array<int, kCells + 1> cut{};
    std::size_t free = kCells;
    for (std::size_t size = kCells; size > 0; --size) {
        if (demand_[size] <= 0) continue;
        const double net = static_cast<double>(size * kGrain) - prices_[size];
        while (net > 0 && size <= free && best[free] <= best[free - size] + net + 1e-9) {
            ++cut[size];
            free -= size;
        }
    }
    double squares = 0;
    for (std::size_t size = 1; size <= kCells; ++size) {
        if (demand_[size] > 0) squares += std::pow(cut[size] - demand_[size], 2);
    }
    if (squares <= 0) return;
    const double scale = length / std::sqrt(squares);
    for (std::size_t size = 1; size <= kCells; ++size) {
        if (demand_[size] <= 0) continue;
        prices_[size] = std::max(0.0, prices_[size] + scale * (cut[size] - demand_[size]));
    }
}

void PieceValue::learn(std::span<const MixClass> mix) {
    if (!note_demand(mix)) return;
    const int from = has_prices_ ? kFirstSteps - kLaterSteps : 0;
    const int mean_from = (from + kFirstSteps) / 2;
    Table mean{};
    for (int i = from; i < kFirstSteps; ++i) {
        step(kStep / std::sqrt(i + 1.0));
        if (i < mean_from) continue;
        for (std::size_t size = 0; size <= kCells; ++size)
            mean[size] += prices_[size] / (kFirstSteps - mean_from);
    }
    prices_ = mean;
    has_prices_ = true;
    const Table best = knapsack(prices_);
    for (std::size_t free = 0; free <= kCells; ++free)
        value_[free] = static_cast<std::int32_t>(std::floor(best[free]));
}

std::int32_t PieceValue::of(const NodeLoad& load) const {
    std::int32_t sum = 0;
    for (int gpu = 0; gpu < load.gpus; ++gpu)
        sum += of_piece(load.milli[static_cast<std::size_t>(gpu)]);
    return sum;
}

}  // namespace tessera

// What is free on a node's cards, a card a lane of vectors, so that the tightest card for a task is
// found and charged without a branch: which card it will be is not to be foreseen, and a wrong
// guess of the processor would cost more than all the rest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// GCC's vectors: they mean the same on every machine, and are instructions where it has them.
using Lanes [[gnu::vector_size(16)]] = std::int16_t;
inline constexpr int kLanes = 8;
// A lane holds the free thousandths times kLaneUnit plus its number, so that no two cards are
// equal. A lane without a card holds 0.
inline constexpr int kLaneUnit = 16;

inline Lanes all_lanes(int value) {
    const auto one = static_cast<std::int16_t>(value);
    return Lanes{one, one, one, one, one, one, one, one};
}

// What a task asks for of one card, ready for CardLanes.
struct LaneDemand {
    Lanes milli{};   // in lane units
    Lanes lowest{};  // added to a lane: less, the tighter it fits, and more where it does not fit
};

inline LaneDemand lane_demand(int milli) {
    return {all_lanes(milli * kLaneUnit), all_lanes(-32'768 - milli * kLaneUnit)};
}

// `kVectors` of 8 cards each.
template <int kVectors>
class CardLanes {
  public:
    explicit CardLanes(const NodeLoad& load) {
        for (int card = 0; card < load.cards; ++card) {
            const int free = load.milli[static_cast<std::size_t>(card)];
            lanes_[card / kLanes][card % kLanes] =
                static_cast<std::int16_t>(free * kLaneUnit + card);
        }
    }

    // The most thousandths that are free on one card.
    [[nodiscard]] int most_free() const {
        Lanes most = lanes_[0];
        for (int i = 1; i < kVectors; ++i)
            most = larger(most, lanes_[i]);
        most = larger(most, __builtin_shufflevector(most, most, 4, 5, 6, 7, 0, 1, 2, 3));
        most = larger(most, __builtin_shufflevector(most, most, 2, 3, 0, 1, 6, 7, 4, 5));
        most = larger(most, __builtin_shufflevector(most, most, 1, 0, 3, 2, 5, 4, 7, 6));
        return most[0] / kLaneUnit;
    }

    // How many cards have as much free.
    [[nodiscard]] int fitting(const LaneDemand& demand) const {
        int count = 0;
        for (const Lanes& lanes : lanes_) {
            const Lanes fits = lanes >= demand.milli;
            for (int i = 0; i < kLanes; ++i)
                count -= fits[i];
        }
        return count;
    }

    // Of the tightest card. One fits, or the demand is 0.
    void take(const LaneDemand& demand) {
        Lanes fit[kVectors];
        for (int i = 0; i < kVectors; ++i)
            fit[i] = wrapped_sum(lanes_[i], demand.lowest);
        const Lanes tightest = least_of(fit);
        for (int i = 0; i < kVectors; ++i)
            lanes_[i] -= (fit[i] == tightest) & demand.milli;
    }

    // Of the `count` tightest cards, of each once. As many fit.
    void take_each(const LaneDemand& demand, int count) {
        Lanes fit[kVectors];
        for (int i = 0; i < kVectors; ++i)
            fit[i] = wrapped_sum(lanes_[i], demand.lowest);
        for (; count > 0; --count) {
            const Lanes tightest = least_of(fit);
            for (int i = 0; i < kVectors; ++i) {
                const Lanes is_tightest = fit[i] == tightest;
                lanes_[i] -= is_tightest & demand.milli;
                fit[i] = is_tightest ? all_lanes(32'767) : fit[i];
            }
        }
    }

  private:
    // In every lane.
    static Lanes least_of(const Lanes (&of)[kVectors]) {
        Lanes least = of[0];
        for (int i = 1; i < kVectors; ++i)
            least = smaller(least, of[i]);
        least = smaller(least, __builtin_shufflevector(least, least, 4, 5, 6, 7, 0, 1, 2, 3));
        least = smaller(least, __builtin_shufflevector(least, least, 2, 3, 0, 1, 6, 7, 4, 5));
        return smaller(least, __builtin_shufflevector(least, least, 1, 0, 3, 2, 5, 4, 7, 6));
    }
    static Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }
    static Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
    static Lanes wrapped_sum(Lanes a, Lanes b) {
        using Unsigned [[gnu::vector_size(16)]] = std::uint16_t;
        return std::bit_cast<Lanes>(std::bit_cast<Unsigned>(a) + std::bit_cast<Unsigned>(b));
    }

    Lanes lanes_[kVectors] = {};
};

}  // namespace tessera

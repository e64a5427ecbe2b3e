// The free amounts of a node's GPUs in the lanes of vectors, one GPU per lane. The tightest GPU for
// a task is found and charged without a branch, because a branch could not be predicted, and a
// wrong prediction would cost more than all the rest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// GCC's vectors: they have the same meaning on every machine, and use its vector instructions if it
// has any.
using Lanes [[gnu::vector_size(16)]] = std::int16_t;
inline constexpr int kLanes = 8;
// A lane holds the free thousandths times kLaneUnit plus the GPU's number, so that no two GPUs are
// equal. A lane without a GPU holds 0.
inline constexpr int kLaneUnit = 16;

inline Lanes all_lanes(int value) {
    const auto one = static_cast<std::int16_t>(value);
    return Lanes{one, one, one, one, one, one, one, one};
}

// A task's request of one GPU, prepared for GpuLanes.
struct LaneDemand {
    Lanes milli{};   // in lane units
    Lanes lowest{};  // added to a lane: the sum is smaller the tighter it fits, and larger if it
                     // does not fit
};

inline LaneDemand lane_demand(int milli) {
    return {all_lanes(milli * kLaneUnit), all_lanes(-32'768 - milli * kLaneUnit)};
}

// `kVectors` vectors of 8 GPUs each.
template <int kVectors>
class GpuLanes {
  public:
    explicit GpuLanes(const NodeLoad& load) {
        for (int gpu = 0; gpu < load.gpus; ++gpu) {
            const int free = load.milli[static_cast<std::size_t>(gpu)];
            lanes_[gpu / kLanes][gpu % kLanes] = static_cast<std::int16_t>(free * kLaneUnit + gpu);
        }
    }

    // The most thousandths that are free on one GPU.
    [[nodiscard]] int most_free() const {
        Lanes most = lanes_[0];
        for (int i = 1; i < kVectors; ++i)
            most = larger(most, lanes_[i]);
        most = larger(most, __builtin_shufflevector(most, most, 4, 5, 6, 7, 0, 1, 2, 3));
        most = larger(most, __builtin_shufflevector(most, most, 2, 3, 0, 1, 6, 7, 4, 5));
        most = larger(most, __builtin_shufflevector(most, most, 1, 0, 3, 2, 5, 4, 7, 6));
        return most[0] / kLaneUnit;
    }

    // The number of GPUs with enough free.
    [[nodiscard]] int fitting(const LaneDemand& demand) const {
        int count = 0;
        for (const Lanes& lanes : lanes_) {
            const Lanes fits = lanes >= demand.milli;
            for (int i = 0; i < kLanes; ++i)
                count -= fits[i];
        }
        return count;
    }

    // Takes the demand from the tightest GPU. One must fit, or the demand is 0.
    void take(const LaneDemand& demand) {
        Lanes assignment[kVectors];
        for (int i = 0; i < kVectors; ++i)
            assignment[i] = wrapped_sum(lanes_[i], demand.lowest);
        const Lanes tightest = least_of(assignment);
        for (int i = 0; i < kVectors; ++i)
            lanes_[i] -= (assignment[i] == tightest) & demand.milli;
    }

    // Takes the demand from each of the `count` tightest GPUs. That many must fit.
    void take_each(const LaneDemand& demand, int count) {
        Lanes assignment[kVectors];
        for (int i = 0; i < kVectors; ++i)
            assignment[i] = wrapped_sum(lanes_[i], demand.lowest);
        for (; count > 0; --count) {
            const Lanes tightest = least_of(assignment);
            for (int i = 0; i < kVectors; ++i) {
                const Lanes is_tightest = assignment[i] == tightest;
                lanes_[i] -= is_tightest & demand.milli;
                assignment[i] = is_tightest ? all_lanes(32'767) : assignment[i];
            }
        }
    }

  private:
    // The smallest value, in every lane.
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

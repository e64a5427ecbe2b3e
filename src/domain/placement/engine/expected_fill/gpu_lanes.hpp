// The free amounts of a node's GPUs in the lanes of vectors, one GPU per lane. Finding the GPU with
// the least free that is enough, and subtracting the demand from it, need no branch: a mispredicted
// branch would take longer than the arithmetic.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// GCC's vector extensions (its manual, "Using Vector Instructions through Built-in Functions").
// They compile for every target, to vector instructions if it has any.
using Lanes [[gnu::vector_size(16)]] = std::int16_t;
inline constexpr int kLanes = 8;
// A lane holds the free thousandths times kLaneUnit plus the GPU's number, so that no two GPUs are
// equal: at most 16,015. A lane without a GPU holds 0.
inline constexpr int kLaneUnit = 16;
static_assert(kMaxGpus <= kLaneUnit);

inline Lanes all_lanes(int value) {
    const auto one = static_cast<std::int16_t>(value);
    return Lanes{one, one, one, one, one, one, one, one};
}

// A task's request of one GPU, prepared for GpuLanes.
struct LaneDemand {
    Lanes milli{};  // in lane units
    // -32,768 - milli. Added to a lane with wrap-around, it gives the lane's sort key: -32,768 plus
    // what stays free, or, if the demand does not fit, a number that is larger than all of these.
    Lanes bias{};
};

inline LaneDemand lane_demand(int milli) {
    return {all_lanes(milli * kLaneUnit), all_lanes(-32'768 - milli * kLaneUnit)};
}

// `kVectors` vectors of 8 GPUs each.
template <int kVectors>
class GpuLanes {
  public:
    // `load` has at most 8 * kVectors GPUs.
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

    // The number of GPUs with enough free, for a demand above 0.
    [[nodiscard]] int fitting(const LaneDemand& demand) const {
        int count = 0;
        for (const Lanes& lanes : lanes_) {
            const Lanes fits = lanes >= demand.milli;
            for (int i = 0; i < kLanes; ++i)
                count -= fits[i];
        }
        return count;
    }

    // Takes the demand from the tightest GPU, the first among equals. Call this only if a GPU has
    // enough free, or with a demand of 0, which changes nothing.
    void take(const LaneDemand& demand) {
        Lanes keys[kVectors];
        for (int i = 0; i < kVectors; ++i)
            keys[i] = wrapped_sum(lanes_[i], demand.bias);
        const Lanes tightest = least_of(keys);
        for (int i = 0; i < kVectors; ++i)
            lanes_[i] -= (keys[i] == tightest) & demand.milli;
    }

    // Takes the demand from each of the `count` tightest GPUs. Call this only if that many have
    // enough free.
    void take_each(const LaneDemand& demand, int count) {
        Lanes keys[kVectors];
        for (int i = 0; i < kVectors; ++i)
            keys[i] = wrapped_sum(lanes_[i], demand.bias);
        for (; count > 0; --count) {
            const Lanes tightest = least_of(keys);
            for (int i = 0; i < kVectors; ++i) {
                const Lanes is_tightest = keys[i] == tightest;
                lanes_[i] -= is_tightest & demand.milli;
                keys[i] = is_tightest ? all_lanes(32'767) : keys[i];
            }
        }
    }

  private:
    // The smallest value, in every lane.
    static Lanes least_of(const Lanes (&keys)[kVectors]) {
        Lanes least = keys[0];
        for (int i = 1; i < kVectors; ++i)
            least = smaller(least, keys[i]);
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

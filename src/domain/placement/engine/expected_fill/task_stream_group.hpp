// A group of task streams, and how much of a node's GPUs they would take. A task stream is a random
// sample of future tasks, drawn from the mix (mix.hpp); it is no CUDA stream. Its tasks are offered
// to the node in order, and each task that fits takes the tightest GPUs.
//
// The tasks of a stream that may still fit are the set bits of one word; taking a task clears bits.
// So the cost of a stream depends on the tasks that it takes, not on its length.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/engine/expected_fill/gpu_lanes.hpp"
#include "domain/placement/engine/expected_fill/mix_sample.hpp"
#include "domain/placement/engine/mix.hpp"
#include "domain/placement/engine/node_load.hpp"

namespace tessera {

// Immutable.
class TaskStreamGroup {
  public:
    static constexpr std::size_t kMostClasses = 1024;

    // Without tasks: nothing is ever taken.
    TaskStreamGroup() = default;
    // At most kMostClasses classes.
    TaskStreamGroup(std::span<const MixClass> mix, const StreamSample& sample);

    // How much of the node each stream would take if it had the node alone, in thousandths of a
    // GPU, summed over the streams.
    [[nodiscard]] std::int32_t taken(const NodeLoad& load) const;

  private:
    struct Class {
        LaneDemand demand;
        std::int32_t cpu_milli = 0;
        std::int32_t count = 0;
        std::int32_t takes = 0;  // thousandths of a GPU, over all its GPUs
    };
    using Tasks = std::uint64_t;  // of a stream: bit n for the n-th task
    template <int kVectors>
    struct Run;

    void note_levels(std::span<const MixClass> mix);
    [[nodiscard]] std::size_t cpu_level(std::int32_t cpu_milli) const;
    template <int kVectors>
    void step(Run<kVectors>& run) const;
    template <int kVectors>
    [[nodiscard]] std::int32_t run_all(const NodeLoad& load) const;

    std::vector<Class> classes_;  // those of the mix, and one that requests nothing
    // Indices into classes_, per stream. The last one is always the class that requests nothing.
    std::array<std::array<std::uint16_t, kStreamLength + 1>, kGroupStreams> streams_{};
    // Free amounts of the same level allow the same tasks. cpu_levels_ has the level of each bucket
    // of free CPU, gpu_levels_ that of each number of free thousandths of one GPU. For CPU, and for
    // tasks with several GPUs, a task that a level allows may still not fit; step() checks it.
    std::vector<std::uint16_t> cpu_levels_;
    std::vector<std::uint16_t> gpu_levels_;
    std::size_t cpu_width_ = 0;  // number of levels
    std::size_t gpu_width_ = 0;  // number of levels
    // Per stream and level, or model: the tasks that may fit.
    std::vector<Tasks> by_cpu_;
    std::vector<Tasks> by_gpu_;
    std::vector<Tasks> by_model_;
};

}  // namespace tessera

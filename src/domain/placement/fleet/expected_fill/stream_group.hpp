// Some streams of tasks drawn from a mix, and how much of a node's cards they would take: offered
// in order, each task that fits taking the tightest card.
//
// All tasks of a stream that may fit are the set bits of one word; a task taken clears bits. So a
// stream costs what it takes, not its length.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/fleet/expected_fill/card_lanes.hpp"
#include "domain/placement/fleet/expected_fill/mix_sample.hpp"
#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

// Immutable.
class StreamGroup {
  public:
    static constexpr std::size_t kMostClasses = 1024;

    // No tasks: nothing is ever taken.
    StreamGroup() = default;
    // At most kMostClasses.
    StreamGroup(std::span<const MixClass> mix, const StreamDraw& draw);

    // Thousandths of a card that the streams would take of the node, each on its own: their sum.
    [[nodiscard]] std::int32_t taken(const NodeLoad& load) const;

  private:
    struct Class {
        LaneDemand demand;
        std::int32_t cpu_milli = 0;
        std::int32_t count = 0;
        std::int32_t takes = 0;  // thousandths of a card, of all its cards
    };
    using Tasks = std::uint64_t;  // of a stream, bit n for the n-th
    template <int kVectors>
    struct Run;

    void note_levels(std::span<const MixClass> mix);
    [[nodiscard]] std::size_t cpu_level(std::int32_t cpu_milli) const;
    template <int kVectors>
    void step(Run<kVectors>& run) const;
    template <int kVectors>
    [[nodiscard]] std::int32_t run_all(const NodeLoad& load) const;

    std::vector<Class> classes_;  // those of the mix, and one that asks for nothing
    // Of each stream; past its end the class that asks for nothing.
    std::array<std::array<std::uint16_t, kStreamLength + 1>, kGroupStreams> streams_{};
    // The level of what is free, by which tasks may fit: of CPU per bucket, of a card per
    // thousandth. Of CPU, and where a task asks for several cards, a level says what may fit, and
    // step() looks whether it does.
    std::vector<std::uint16_t> cpu_levels_;
    std::vector<std::uint16_t> card_levels_;
    std::size_t cpu_width_ = 0;   // levels
    std::size_t card_width_ = 0;  // levels
    // Per stream and level, or model: the tasks that may fit.
    std::vector<Tasks> by_cpu_;
    std::vector<Tasks> by_card_;
    std::vector<Tasks> by_model_;
};

}  // namespace tessera

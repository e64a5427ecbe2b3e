// Some streams of tasks drawn from a mix, and how much of a node's cards they would take: a sample
// of what is to come, offered in order, each task that fits taking the tightest card.
//
// All tasks of a stream that fit are the set bits of one word; a task taken clears bits. So a
// stream costs what it takes, not its length.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/fleet/mix.hpp"
#include "domain/placement/fleet/node_load.hpp"

namespace tessera {

inline constexpr std::size_t kStreamLength = 60;  // tasks
inline constexpr std::size_t kGroupStreams = 16;

// Which part of the sample a group is: `group` of `groups` that are drawn alike. Together they hold
// at each place of the stream one task of each 1 / (groups x kGroupStreams) of the mix.
struct StreamDraw {
    std::uint64_t seed = 0;
    std::size_t group = 0;
    std::size_t groups = 1;
};

// Immutable. The same mix and draw give the same streams on every machine.
class StreamGroup {
  public:
    // No tasks: nothing is ever taken.
    StreamGroup() = default;
    // At most kMostClasses, of shares above 0.
    StreamGroup(std::span<const MixClass> mix, const StreamDraw& draw);

    static constexpr std::size_t kMostClasses = 1024;

    // Thousandths of a card that the streams would take of the node, each on its own: their sum.
    [[nodiscard]] std::int32_t taken(const NodeLoad& load) const;

  private:
    struct Stream {
        std::array<std::uint16_t, kStreamLength> tasks{};  // in classes_
    };
    struct Class {
        std::int32_t cpu_milli = 0;
        std::int16_t milli = 0;
        std::int16_t count = 0;
        ModelSet models = kAnyModel;
    };
    // What a stream leaves of a node.
    struct Rest {
        std::int32_t cpu_milli = 0;
        std::int32_t whole = 0;                       // cards of which nothing is taken
        std::int32_t pieces = 0;                      // cards of which something is
        std::array<std::int16_t, kMaxCards> piece{};  // what is free on them, the least first
    };
    using Tasks = std::uint64_t;  // of a stream, bit n for the n-th

    void draw_tasks(std::span<const MixClass> mix, const StreamDraw& draw);
    void note_levels();
    [[nodiscard]] std::size_t cpu_level(std::int32_t cpu_milli) const;
    [[nodiscard]] std::size_t card_level(const Rest& rest) const;
    [[nodiscard]] bool take(Rest& rest, const Class& one) const;
    [[nodiscard]] std::int32_t taken(std::size_t stream, Rest rest, Tasks open) const;
    void use_piece(Rest& rest, std::int32_t at, std::int16_t milli) const;

    std::vector<Class> classes_;
    std::vector<Stream> streams_;
    std::int16_t least_piece_ = 0;          // nothing in the mix is smaller
    std::vector<std::int32_t> cpu_steps_;   // all demands for CPU, ascending, each once
    std::vector<std::uint8_t> cpu_bucket_;  // steps below each multiple of kCpuBucket
    std::array<std::uint8_t, kMilliPerCard + 1> piece_level_{};  // by the largest piece free
    std::size_t piece_levels_ = 0;
    // Per stream and level: the tasks that a node of that level may take.
    std::vector<Tasks> by_cpu_;
    std::vector<Tasks> by_cards_;
    std::vector<Tasks> by_model_;
};

}  // namespace tessera

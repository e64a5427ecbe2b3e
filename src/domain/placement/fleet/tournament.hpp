// The highest of many scores and the first that has it, brought up to date one score at a time. A
// tree whose nodes hold the highest of kFanOut below them, which is one cache line: a change looks
// at one line per level, and only as far up as it makes a difference.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

namespace tessera {

class Tournament {
  public:
    // The score of who does not take part.
    static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::min();

    explicit Tournament(std::size_t leaves) : leaves_(leaves) {
        std::size_t width = leaves;
        do {
            width = (width + kFanOut - 1) / kFanOut;
            levels_.emplace_back(width * kFanOut, kNone);
        } while (width > 1);
    }

    void set(std::size_t leaf, std::int32_t score) {
        std::size_t at = leaf;
        for (auto& level : levels_) {
            const std::int32_t old = level[at];
            if (old == score) return;
            const auto block = std::span(level).subspan(at / kFanOut * kFanOut, kFanOut);
            level[at] = score;
            if (score < old) score = std::ranges::max(block);
            // The parent holds the highest of the block before the change: it changes when that
            // was `old`, or is less than `score` now.
            at /= kFanOut;
            if (&level == &levels_.back()) return;
            const std::int32_t parent = (&level)[1][at];
            if (score <= parent && old < parent) return;
        }
    }

    [[nodiscard]] std::int32_t best() const { return std::ranges::max(levels_.back()); }

    // best() is not kNone.
    [[nodiscard]] std::size_t first_best() const {
        const std::int32_t score = best();
        std::size_t at = 0;
        for (const auto& level : std::ranges::reverse_view(levels_)) {
            at *= kFanOut;
            while (level[at] != score)
                ++at;
        }
        return at;
    }

    [[nodiscard]] std::span<const std::int32_t> leaves() const {
        return std::span(levels_.front()).first(leaves_);
    }

  private:
    static constexpr std::size_t kFanOut = 16;

    std::size_t leaves_;
    std::vector<std::vector<std::int32_t>> levels_;  // the leaves first; padded with kNone
};

}  // namespace tessera

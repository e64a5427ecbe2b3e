// The best of many scores and the first leaf that has it, updated one score at a time. A tree whose
// nodes hold the best of the kFanOut scores below them, which are one cache line. A change reads
// one line per level, and stops at the first level that does not change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

namespace tessera {

// An order: `Score`, `kNone` that is behind all others, and whether one score is behind another.
struct HighestFirst {
    using Score = std::int32_t;
    static constexpr Score kNone = std::numeric_limits<Score>::min();
    constexpr bool operator()(Score a, Score b) const { return a < b; }
};

template <class Order>
class TournamentOf {
  public:
    using Score = typename Order::Score;
    // The score of a leaf that does not take part.
    static constexpr Score kNone = Order::kNone;

    // At first no leaf takes part.
    explicit TournamentOf(std::size_t leaves) : leaves_(leaves) {
        std::size_t width = std::max<std::size_t>(leaves, 1);
        do {
            width = (width + kFanOut - 1) / kFanOut;
            levels_.emplace_back(width * kFanOut, kNone);
        } while (width > 1);
    }

    void set(std::size_t leaf, Score score) {
        std::size_t at = leaf;
        for (auto& level : levels_) {
            const Score old = level[at];
            if (old == score) return;
            const auto block = std::span(level).subspan(at / kFanOut * kFanOut, kFanOut);
            level[at] = score;
            if (Order{}(score, old)) score = std::ranges::max(block, Order{});
            // The parent holds the best of the block before the change. It changes if that was
            // `old`, or if it is behind `score` now.
            at /= kFanOut;
            if (&level == &levels_.back()) return;
            const Score parent = (&level)[1][at];
            if (!Order{}(parent, score) && Order{}(old, parent)) return;
        }
    }

    [[nodiscard]] Score best() const { return std::ranges::max(levels_.back(), Order{}); }

    // best() must not be kNone.
    [[nodiscard]] std::size_t first_best() const {
        const Score score = best();
        std::size_t at = 0;
        for (const auto& level : std::ranges::reverse_view(levels_)) {
            at *= kFanOut;
            while (level[at] != score)
                ++at;
        }
        return at;
    }

    [[nodiscard]] std::span<const Score> leaves() const {
        return std::span(levels_.front()).first(leaves_);
    }

  private:
    static constexpr std::size_t kCacheLine = 64;
    static constexpr std::size_t kFanOut = kCacheLine / sizeof(Score);

    std::size_t leaves_;
    std::vector<std::vector<Score>> levels_;  // the leaves first; padded with kNone
};

using Tournament = TournamentOf<HighestFirst>;

}  // namespace tessera

// W(n), the expected fill of a node: the thousandths of a GPU that tasks of the mix would take of
// it, as the mean of kSampleStreams streams. The node's CPU counts in whole cores; that halves the
// number of states, and made no placement worse. Cached by the node's state. When a part of the
// streams is drawn again, only that part is computed again, and only when it is needed.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "domain/placement/engine/expected_fill/task_stream_group.hpp"
#include "domain/placement/engine/node_state.hpp"

namespace tessera {

// Used by one thread. StateMemo::kMost limits the cache.
class SampledFill {
  public:
    static constexpr std::size_t kGroups = 4;
    static constexpr std::size_t kSampleStreams = kGroups * kGroupStreams;

    explicit SampledFill(std::uint64_t seed) : seed_(seed) {}

    // Draws the oldest group of streams again, from another mix.
    void renew_one(std::span<const MixClass> mix);
    void renew_all(std::span<const MixClass> mix);

    // W(n) times kSampleStreams.
    [[nodiscard]] std::int32_t of(const NodeLoad& load);
    // The same, without the cache.
    [[nodiscard]] std::int32_t work_out(const NodeLoad& load) const;

  private:
    struct Entry {
        std::uint64_t renewal = 0;  // the renewal for which the sums are valid
        std::array<std::int32_t, kGroups> sums{};
    };

    std::uint64_t seed_;
    std::array<TaskStreamGroup, kGroups> groups_;
    std::uint64_t renewals_ = 0;  // the n-th renewal is of group n % kGroups
    StateMemo<Entry> memo_;
};

}  // namespace tessera

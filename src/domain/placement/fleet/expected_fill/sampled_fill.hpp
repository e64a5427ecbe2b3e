// W(n), the expected fill of a node: the thousandths of a card that tasks of the mix would take of
// it, mean of kSampleStreams streams. The node's CPU counts in whole cores: that halves the states
// to look at, and no placement was the worse for it. Remembered by the node's state; when a part of
// the streams is drawn anew, only that part is worked out again, and only where it is asked for.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "domain/placement/fleet/expected_fill/stream_group.hpp"
#include "domain/placement/fleet/node_state.hpp"

namespace tessera {

// One thread. What is remembered is bounded by StateMemo::kMost.
class SampledFill {
  public:
    static constexpr std::size_t kGroups = 4;
    static constexpr std::size_t kSampleStreams = kGroups * kGroupStreams;

    explicit SampledFill(std::uint64_t seed) : seed_(seed) {}

    // The oldest group of streams, from another mix.
    void renew_one(std::span<const MixClass> mix);
    void renew_all(std::span<const MixClass> mix);

    // W(n) times kSampleStreams.
    [[nodiscard]] std::int32_t of(const NodeLoad& load);
    // The same, with nothing remembered.
    [[nodiscard]] std::int32_t work_out(const NodeLoad& load) const;

  private:
    struct Entry {
        std::uint64_t renewal = 0;  // of which the sums are
        std::array<std::int32_t, kGroups> sums{};
    };

    std::uint64_t seed_;
    std::array<StreamGroup, kGroups> groups_;
    std::uint64_t renewals_ = 0;  // the n-th is of group n % kGroups
    StateMemo<Entry> memo_;
};

}  // namespace tessera

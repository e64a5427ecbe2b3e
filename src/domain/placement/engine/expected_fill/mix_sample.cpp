#include "domain/placement/engine/expected_fill/mix_sample.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Draws {
  public:
    explicit Draws(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15U;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
        return mixed ^ (mixed >> 31);
    }
    // In [0, 1).
    double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  private:
    std::uint64_t state_;
};

// An order with similar tasks side by side: a systematic sample then has each kind as often as the
// mix, wherever it starts.
std::vector<std::uint16_t> alike_beside(std::span<const MixClass> mix) {
    std::vector<std::uint16_t> order(mix.size());
    std::iota(order.begin(), order.end(), std::uint16_t{0});
    std::ranges::sort(order, std::ranges::greater{}, [&](std::uint16_t i) {
        const MixClass& m = mix[i];
        return std::tuple(m.milli * m.count, m.count, m.cpu_milli, m.models);
    });
    return order;
}

}  // namespace

std::array<TaskStream, kGroupStreams> sample_streams(std::span<const MixClass> mix,
                                                     const StreamSample& sample) {
    const auto order = alike_beside(mix);
    double total = 0;
    std::vector<double> up_to;
    for (const std::uint16_t i : order) {
        total += mix[i].share;
        up_to.push_back(total);
    }
    std::array<TaskStream, kGroupStreams> streams{};
    // The samples of all groups use the same start, so that they complement each other. Each group
    // deals its sample in another way.
    Draws starts(sample.seed);
    Draws deals(sample.seed ^ (0xA0761D6478BD642FU * (sample.group + 1)));
    std::array<std::size_t, kGroupStreams> dealt{};
    const double step = total / static_cast<double>(kGroupStreams * sample.groups);
    for (std::size_t place = 0; place < kStreamLength; ++place) {
        const double start = starts.fraction();
        const std::size_t turn = (sample.group + place) % sample.groups;
        std::iota(dealt.begin(), dealt.end(), std::size_t{0});
        for (std::size_t left = kGroupStreams; left > 1; --left)
            std::swap(dealt[left - 1], dealt[deals.next() % left]);
        for (std::size_t i = 0; i < kGroupStreams; ++i) {
            const double at = (static_cast<double>(i * sample.groups + turn) + start) * step;
            const auto found = std::ranges::upper_bound(up_to, at) - up_to.begin();
            const auto last = static_cast<std::ptrdiff_t>(order.size()) - 1;
            streams[dealt[i]][place] = order[static_cast<std::size_t>(std::min(found, last))];
        }
    }
    return streams;
}

}  // namespace tessera

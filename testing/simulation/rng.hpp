// The source of every random choice in a simulated run. It uses only integers and its own
// distributions, so that a seed gives the same run on every platform.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace tessera::simulation {

using Time = std::chrono::nanoseconds;  // since the start of the run, or a duration

class Rng {
  public:
    explicit Rng(std::uint64_t seed) : engine_(seed) {}

    // 0 to n - 1; n must be above 0. The bias of the remainder is below one in 2^40 here.
    std::uint64_t below(std::uint64_t n) { return engine_() % n; }
    // From `low` to `high`, both included.
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
    }
    Time between(Time low, Time high) { return Time(between(low.count(), high.count())); }
    bool chance(std::uint64_t per_mille) { return below(1000) < per_mille; }
    template <class T>
    const T& pick(const std::vector<T>& items) {
        return items[below(items.size())];
    }
    // A network delay: usually near `usual`, sometimes up to ten times that.
    Time delay(Time usual) { return between(usual / 2, chance(50) ? usual * 10 : usual * 3 / 2); }

  private:
    std::mt19937_64 engine_;
};

}  // namespace tessera::simulation

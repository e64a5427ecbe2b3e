// How much of a core learning may take.
#pragma once

#include <algorithm>
#include <chrono>

namespace tessera {

// What is new is worked off at once. But where the cluster changes faster than all kinds of pods
// can be rated for it, that has no end, and would take a core for good: who has worked for kAtOnce
// without having been done rests from then on as long as he works. What is behind then is behind a
// little more; a node that changed twice meanwhile is rated once. What was there when the
// controller started has an end, and is worked off without a rest: until then pods are placed by
// less than is known.
class LearningPace {
  public:
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds kPeriod{100};  // between looks for something new
    static constexpr std::chrono::seconds kAtOnce{30};

    enum class Left { nothing, what_was_there_at_start, what_came_since };

    // After a step that took so long, and left that to do.
    Milliseconds rest_after(std::chrono::nanoseconds step, Left left) {
        worked_ = left == Left::what_came_since ? worked_ + step : std::chrono::nanoseconds{};
        if (left == Left::nothing) return kPeriod;
        if (worked_ < kAtOnce) return Milliseconds{};
        return std::max(std::chrono::ceil<Milliseconds>(step), Milliseconds{1});
    }

  private:
    std::chrono::nanoseconds worked_{};
};

}  // namespace tessera

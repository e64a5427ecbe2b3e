// How much of a core learning may use.
#pragma once

#include <algorithm>
#include <chrono>

namespace tessera {

// Changes are processed at once. But if the cluster changes faster than all kinds of pods can be
// scored, that work has no end and would use a core permanently. After kAtOnce of unfinished work,
// the thread therefore rests after each step for as long as the step took. The work left then waits
// a little longer; a node that changed twice meanwhile is scored once. What was there when the
// controller started is finite, and is processed without rests: until it is done, pods are placed
// with less knowledge than there is.
class LearningPace {
  public:
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds kPeriod{100};  // between looks for something new
    static constexpr std::chrono::seconds kAtOnce{30};

    enum class Left { nothing, what_was_there_at_start, what_came_since };

    // The rest after a step that took `step` and left `left` to do.
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

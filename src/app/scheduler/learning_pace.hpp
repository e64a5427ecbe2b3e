// How much of a core learning may take.
#pragma once

#include <algorithm>
#include <chrono>

namespace tessera {

// What is new is worked off at once. But where the cluster changes faster than all kinds of pods
// can be rated for it, that has no end, and would take a core for good: who has worked for kAtOnce
// without having been done rests from then on as long as he works. What is behind then is behind a
// little more; a node that changed twice meanwhile is rated once.
class LearningPace {
  public:
    using Milliseconds = std::chrono::milliseconds;
    static constexpr Milliseconds kPeriod{100};  // between looks for something new
    static constexpr std::chrono::seconds kAtOnce{30};

    // After a step that took so long, and left nothing to do or something.
    Milliseconds rest_after(std::chrono::nanoseconds step, bool is_done) {
        worked_ = is_done ? std::chrono::nanoseconds{} : worked_ + step;
        if (is_done) return kPeriod;
        if (worked_ < kAtOnce) return Milliseconds{};
        return std::max(std::chrono::ceil<Milliseconds>(step), Milliseconds{1});
    }

  private:
    std::chrono::nanoseconds worked_{};
};

}  // namespace tessera

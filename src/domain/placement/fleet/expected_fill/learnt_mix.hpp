// The mix as it is learnt: the classes of the tasks that came, the latest counting most. A task's
// weight halves with each kHalfLife tasks that come after it.
//
// Nothing is stored: fed the tasks of the running pods in the order of their creation, it knows as
// much of the mix as they say.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "domain/placement/fleet/mix.hpp"

namespace tessera {

// One thread. Holds at most kMostClasses; past that the classes that weigh least are forgotten.
class LearntMix {
  public:
    static constexpr int kHalfLife = 2'000;  // tasks
    static constexpr std::size_t kMostClasses = 1'024;

    void add(const Task& task);

    [[nodiscard]] std::size_t classes() const { return weights_.size(); }
    // Shares of 1, ordered by cards, size, CPU, models. Empty before the first task.
    [[nodiscard]] std::vector<MixClass> mix() const;

  private:
    using Key = std::tuple<std::int16_t, std::int16_t, std::int32_t, ModelSet>;

    void forget_least();
    void scale_down();

    std::map<Key, double> weights_;
    double next_weight_ = 1;
};

}  // namespace tessera

// The mix, learnt from arriving tasks: their classes, with the latest tasks counting most. A task's
// weight halves after each kHalfLife later tasks.
//
// Nothing is stored: after a restart, the tasks of the running pods are added in order of their
// creation.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "domain/placement/engine/mix.hpp"

namespace tessera {

// Used by one thread. Holds at most kMostClasses; beyond that, the classes with the least weight
// are dropped.
class LearntMix {
  public:
    static constexpr int kHalfLife = 2'000;  // tasks
    static constexpr std::size_t kMostClasses = 1'024;

    void add(const PlacementTask& task);

    [[nodiscard]] std::size_t classes() const { return weights_.size(); }
    // The shares add up to 1; ordered by GPUs, size, CPU, models. Empty before the first task.
    [[nodiscard]] std::vector<MixClass> mix() const;

  private:
    using Key = std::tuple<std::int16_t, std::int16_t, std::int32_t, ModelSet>;

    void forget_least();
    void scale_down();

    std::map<Key, double> weights_;
    double next_weight_ = 1;
};

}  // namespace tessera

#include "domain/placement/engine/expected_fill/learnt_mix.hpp"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kGrowth = 1.0003466336237;  // 2 ^ (1 / kHalfLife)
static_assert(LearntMix::kHalfLife == 2'000);
constexpr double kMostWeight = 0x1p40;

}  // namespace

void LearntMix::add(const PlacementTask& task) {
    weights_[{task.count, task.milli, task.cpu_milli, task.models}] += next_weight_;
    // The weight of new tasks grows, so that the old weights need not be scaled down each time.
    next_weight_ *= kGrowth;
    if (next_weight_ > kMostWeight) scale_down();
    if (weights_.size() > kMostClasses) forget_least();
}

std::vector<MixClass> LearntMix::mix() const {
    double total = 0;
    for (const auto& [key, weight] : weights_)
        total += weight;
    std::vector<MixClass> mix;
    mix.reserve(weights_.size());
    for (const auto& [key, weight] : weights_) {
        const auto& [count, milli, cpu_milli, models] = key;
        mix.push_back({cpu_milli, milli, count, models, weight / total});
    }
    return mix;
}

void LearntMix::forget_least() {
    std::vector<double> all;
    all.reserve(weights_.size());
    for (const auto& [key, weight] : weights_)
        all.push_back(weight);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::ranges::nth_element(all, middle);
    const double least = *middle;
    std::erase_if(weights_, [&](const auto& one) { return one.second <= least; });
}

void LearntMix::scale_down() {
    for (auto& [key, weight] : weights_)
        weight /= next_weight_;
    next_weight_ = 1;
}

}  // namespace tessera

#include "domain/placement/engine/mix.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace tessera {

std::vector<MixClass> target_mix(std::span<const MixSample> samples, int percent) {
    using Key = std::tuple<std::int32_t, std::int16_t, std::int16_t, std::string_view>;
    std::map<Key, std::pair<int, ModelSet>> counts;
    for (const MixSample& sample : samples) {
        const PlacementTask& task = sample.task;
        auto& [count, models] = counts[{task.cpu_milli, task.milli, task.count, sample.models}];
        ++count;
        models = task.models;
    }
    std::vector<std::pair<int, Key>> order;
    order.reserve(counts.size());
    for (const auto& [key, value] : counts)
        order.emplace_back(value.first, key);
    std::ranges::sort(order, std::ranges::greater{});

    const auto total = static_cast<double>(samples.size());
    const double wanted = percent * total / 100.0;
    std::vector<MixClass> mix;
    double taken = 0;
    for (const auto& [count, key] : order) {
        if (taken >= wanted) break;
        const auto& [cpu_milli, milli, gpus, text] = key;
        mix.push_back({cpu_milli, milli, gpus, counts.at(key).second, count / total});
        taken += count;
    }
    if (mix.size() == order.size()) return mix;
    for (MixClass& row : mix)
        row.share /= taken / total;
    return mix;
}

}  // namespace tessera

#include "domain/placement/engine/expected_fill/sampled_fill.hpp"

#include <algorithm>

namespace tessera {
namespace {

NodeLoad in_whole_cores(const NodeLoad& load) {
    constexpr std::int32_t kCore = 1'000;
    NodeLoad rounded = load;
    rounded.cpu_milli -= load.cpu_milli % kCore;
    return rounded;
}

}  // namespace

void SampledFill::renew_one(std::span<const MixClass> mix) {
    const std::size_t group = ++renewals_ % kGroups;
    groups_.at(group) = TaskStreamGroup(mix, {.seed = seed_, .group = group, .groups = kGroups});
}

void SampledFill::renew_all(std::span<const MixClass> mix) {
    for (std::size_t i = 0; i < kGroups; ++i)
        renew_one(mix);
}

std::int32_t SampledFill::of(const NodeLoad& load) {
    if (memo_.full()) memo_.clear();
    const NodeLoad rounded = in_whole_cores(load);
    Entry& entry = memo_.at(state_of(rounded, false), Entry{});
    const auto missed = std::min<std::uint64_t>(renewals_ - entry.renewal, kGroups);
    for (std::uint64_t i = 0; i < missed; ++i) {
        const std::size_t group = (renewals_ - i) % kGroups;
        entry.sums.at(group) = groups_.at(group).taken(rounded);
    }
    entry.renewal = renewals_;
    std::int32_t sum = 0;
    for (const std::int32_t one : entry.sums)
        sum += one;
    return sum;
}

std::int32_t SampledFill::work_out(const NodeLoad& load) const {
    std::int32_t sum = 0;
    for (const TaskStreamGroup& group : groups_)
        sum += group.taken(in_whole_cores(load));
    return sum;
}

}  // namespace tessera

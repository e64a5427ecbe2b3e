#include "domain/placement/gpu_choice.hpp"

#include <bit>

namespace tessera {

std::optional<GpuMask> first_with_room(GpuSets& sets, const NodeGpus& node_gpus,
                                       const GpuRequest& gpu, GpuMask open) {
    for (const GpuMask among : sets.of(node_gpus, gpu, Nearness::preferred)) {
        if (std::popcount(open & among) >= gpu.gpus) return among;
    }
    return std::nullopt;
}

std::optional<GpuSet> choose_gpus(GpuSets& sets, const GpuQuestion& asked, PlacementPolicy& policy,
                                  std::uint64_t random) {
    const auto among = first_with_room(sets, asked.node_gpus, asked.gpu, asked.open);
    if (!among) return std::nullopt;
    // The policy uses thousandths. If its choice does not fit in bytes, it chooses again among the
    // GPUs that fit. It may not choose GPUs outside of the set.
    for (const GpuMask shown : {*among, asked.open & *among}) {
        const NodeLoad load = only(asked.load, static_cast<GpuSet>(shown));
        if (!can_take_but_memory(load, asked.task)) break;
        const GpuSet gpus = policy.score(load, asked.task, random_for_gpus(random)).gpus;
        if ((gpus & ~asked.open) != 0) continue;
        if (asked.task.count > 1) return gpus;
        const auto first = static_cast<std::size_t>(std::countr_zero(gpus));
        const auto may_take = [&](std::size_t gpu) {
            return is_among(asked.open, gpu) && load.milli.at(gpu) == load.milli.at(first);
        };
        return gpu_bit(static_cast<int>(least_missed(asked.node_gpus, first, may_take)));
    }
    return std::nullopt;
}

}  // namespace tessera

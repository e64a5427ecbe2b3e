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

std::optional<GpuSet> choose_gpus(GpuSets& sets, const GpuQuestion& question,
                                  PlacementPolicy& policy, std::uint64_t random) {
    const auto among = first_with_room(sets, question.node_gpus, question.gpu, question.open);
    if (!among) return std::nullopt;
    // The policy uses thousandths. If its choice does not fit in bytes, it chooses again among the
    // GPUs that fit. It may not choose GPUs outside of the set.
    for (const GpuMask shown : {*among, question.open & *among}) {
        const NodeLoad load = only(question.load, static_cast<GpuSet>(shown));
        if (!can_take_but_memory(load, question.task)) break;
        const GpuSet gpus = policy.score(load, question.task, random_for_gpus(random)).gpus;
        if ((gpus & ~question.open) != 0) continue;
        if (question.task.count > 1) return gpus;
        const auto first = static_cast<std::size_t>(std::countr_zero(gpus));
        const auto may_take = [&](std::size_t gpu) {
            return is_among(question.open, gpu) && load.milli.at(gpu) == load.milli.at(first);
        };
        return gpu_bit(static_cast<int>(least_missed(question.node_gpus, first, may_take)));
    }
    return std::nullopt;
}

}  // namespace tessera

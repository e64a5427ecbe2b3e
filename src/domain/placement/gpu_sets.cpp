#include "domain/placement/gpu_sets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <tuple>

namespace tessera {
namespace {

bool is_idle(const GpuState& gpu) {
    return gpu.usable && gpu.pods == 0 && gpu.allocated + gpu.over_limit == Bytes{};
}

// The number of idle GPUs in the largest topology group of `gpu`, per set of links, the nearest
// first.
std::array<int, 1U << kLinks.size()> missed_with(std::span<const TopologyGroup> topology_groups,
                                                 GpuMask idle, std::size_t gpu) {
    std::array<int, 1U << kLinks.size()> out{};
    for (const TopologyGroup& topology_group : topology_groups) {
        if (!is_among(topology_group.gpus, gpu)) continue;
        int& most = out.at(out.size() - 1 - topology_group.links);
        most = std::max(most, std::popcount(topology_group.gpus & idle));
    }
    return out;
}

bool are_alike(const TopologyGroup& a, const TopologyGroup& b) {
    return a.links == b.links && a.crossed == b.crossed;
}

}  // namespace

std::span<const GpuMask> GpuSets::of(const NodeGpus& node_gpus, const GpuRequest& gpu,
                                     Nearness nearness) {
    sets_.clear();
    const std::optional<Link> link = gpu.gpus > 1 ? gpu.rules.link : std::nullopt;
    const bool looks = gpu.gpus > 1 && (link || nearness == Nearness::preferred);
    choices_.clear();
    std::size_t first = 0;
    for (std::size_t i = 0; looks && i < node_gpus.topology_groups.size(); ++i) {
        const TopologyGroup& topology_group = node_gpus.topology_groups[i];
        if (!are_alike(topology_group, node_gpus.topology_groups[first])) first = i;
        if (link && !topology_group.has(*link)) continue;
        Bytes free;
        int with_some = 0;
        for (GpuMask left = topology_group.gpus; left != 0; left &= left - 1) {
            const Bytes of =
                node_gpus.states[static_cast<std::size_t>(std::countr_zero(left))].free();
            free += of;
            with_some += of > Bytes{} ? 1 : 0;
        }
        if (with_some >= gpu.gpus) choices_.push_back({first, free, topology_group.gpus});
    }
    std::ranges::sort(choices_, {}, [](const Choice& of) {
        return std::tuple(of.topology_group, of.free, of.gpus);
    });
    for (const Choice& choice : choices_)
        sets_.push_back(choice.gpus);
    if (!link) sets_.push_back(kAnyGpus);
    return sets_;
}

std::size_t least_missed(const NodeGpus& node_gpus, std::size_t gpu,
                         const std::function<bool(std::size_t)>& may_take) {
    if (node_gpus.topology_groups.empty() || !is_idle(node_gpus.states[gpu])) return gpu;
    GpuMask idle = 0;
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
        if (is_idle(node_gpus.states[i])) idle |= GpuMask{1} << i;
    }
    std::size_t best = gpu;
    auto least = missed_with(node_gpus.topology_groups, idle, gpu);
    for (std::size_t i = 0; i < node_gpus.states.size(); ++i) {
        const bool is_alike = is_among(idle, i) &&
                              node_gpus.states[i].capacity == node_gpus.states[gpu].capacity &&
                              node_gpus.gpus[i].model == node_gpus.gpus[gpu].model;
        if (!is_alike || !may_take(i)) continue;
        const auto missed = missed_with(node_gpus.topology_groups, idle, i);
        if (missed >= least) continue;
        best = i;
        least = missed;
    }
    return best;
}

}  // namespace tessera

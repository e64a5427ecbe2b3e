#include "domain/placement/engine_terms.hpp"

#include <algorithm>
#include <limits>

#include "domain/cluster/snapshot.hpp"

namespace tessera {
namespace {

constexpr int kMilliPerPercent = kMilliPerGpu / 100;

std::int32_t saturated(std::int64_t value) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    return static_cast<std::int32_t>(std::clamp(value, -kMost, kMost));
}

std::int32_t mebibytes_up(Bytes bytes) {
    return saturated((bytes.count + kMiB - 1) / kMiB);
}

std::int16_t capped(std::int64_t milli) {
    return static_cast<std::int16_t>(std::clamp<std::int64_t>(milli, 0, kMilliPerGpu));
}

// A GPU with unknown memory has nothing free.
std::int64_t memory_milli(Bytes part, Bytes capacity, bool up) {
    if (capacity.count <= 0) return up ? kMilliPerGpu : 0;
    const double exact =
        static_cast<double>(part.count) * kMilliPerGpu / static_cast<double>(capacity.count);
    const auto down = static_cast<std::int64_t>(exact);
    return up && static_cast<double>(down) < exact ? down + 1 : down;
}

TaskKinds kinds_of(const NodeInfo& node) {
    TaskKinds kinds = 0;
    for (const AssignedPodPtr& assigned_pod : node.assigned_pods) {
        for (const ContainerAllocation& container : assigned_pod->allocation.containers) {
            const auto count =
                static_cast<std::int16_t>(std::min<std::size_t>(container.gpus.size(), kMaxGpus));
            if (count == 0) continue;
            const bool is_whole = container.gpus.front().whole;
            kinds |= kind_of(
                {.milli = static_cast<std::int16_t>(is_whole ? kMilliPerGpu : 1), .count = count});
        }
    }
    return kinds;
}

}  // namespace

std::int16_t milli_of(Bytes memory, Percent cores, Bytes capacity) {
    return capped(std::max<std::int64_t>(memory_milli(memory, capacity, true),
                                         std::int64_t{cores.value} * kMilliPerPercent));
}

std::int16_t free_milli(const GpuState& gpu, bool uses_mps) {
    if (!gpu.usable || !gpu.may_join(uses_mps)) return 0;
    const std::int64_t cores = std::int64_t{100 - gpu.allocated_cores.value} * kMilliPerPercent;
    const std::int64_t most = gpu.pods > 0 ? kMilliPerGpu - 1 : kMilliPerGpu;
    return capped(std::min({memory_milli(gpu.free(), gpu.capacity, false), cores, most}));
}

NodeLoad load_of(const NodeInfo& node, int model, const HostRequest& used) {
    const HostRequest& has = node.inventory.host;
    NodeLoad load;
    load.cpu_milli = saturated(has.cpu_milli - used.cpu_milli);
    load.memory_mib = saturated((has.memory - used.memory).count / kMiB);
    load.model = static_cast<std::int16_t>(model);
    load.kinds = kinds_of(node);
    return with_gpus(load, node.gpus);
}

NodeLoad with_gpus(NodeLoad load, std::span<const GpuState> gpus, bool uses_mps) {
    const auto known = std::min<std::size_t>(gpus.size(), kMaxGpus);
    load.gpus = static_cast<std::int16_t>(known);
    load.milli = {};
    for (std::size_t i = 0; i < known; ++i)
        load.milli.at(i) = free_milli(gpus[i], uses_mps);
    return load;
}

std::optional<std::vector<PlacementTask>> tasks_of(const PodRequest& pod, MemoryUnit unit,
                                                   Bytes capacity) {
    std::vector<PlacementTask> tasks;
    for (const ContainerRequest& container : pod.containers) {
        const GpuRequest& gpu = container.gpu;
        const Bytes memory = bytes_of(gpu.memory, unit, capacity);
        if (container.kind == ContainerKind::init || memory > capacity || gpu.gpus > kMaxGpus)
            return std::nullopt;
        tasks.push_back({.milli = milli_of(memory, gpu.cores, capacity),
                         .count = static_cast<std::int16_t>(gpu.gpus)});
    }
    if (tasks.empty()) return std::nullopt;
    tasks.front().cpu_milli = saturated(pod.host.cpu_milli);
    tasks.front().memory_mib = mebibytes_up(pod.host.memory);
    return tasks;
}

}  // namespace tessera

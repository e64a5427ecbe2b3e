#include "domain/container_start/container_edits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/dialect/dialect.hpp"

namespace tessera {
std::vector<std::pair<std::string, std::string>> share_env(const ContainerAllocation& share,
                                                           std::span<const Gpu> gpus) {
    std::string visible;
    std::string memory;
    for (const GpuShare& part : share.gpus) {
        const Gpu* gpu = find_gpu(gpus, part.uuid);
        visible += (visible.empty() ? "" : ",") + (gpu == nullptr ? part.uuid : gpu->uuid).str();
        memory += (memory.empty() ? "" : ",") + std::to_string(part.memory.count);
    }
    return {{std::string(kVisibleDevices), visible}, {std::string(kMemoryBytes), memory}};
}

std::vector<std::pair<std::string, std::string>> size_env(const Allocation& allocation,
                                                          const ContainerAllocation& share,
                                                          const NodeInventory& inventory,
                                                          std::vector<Gpu> gpus, bool sees_share) {
    std::string visible;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        if (sees_share) {
            gpus[i].memory = share.gpus[i].memory;
            gpus[i].reserved = {};
        }
        visible += (visible.empty() ? "" : ",") + std::to_string(gpus[i].memory.count);
    }
    std::vector<std::pair<std::string, std::string>> env{
        {std::string(kVisibleMemoryBytes), visible}};
    if (allocation.dialect->add_env != nullptr)
        allocation.dialect->add_env(allocation, share, inventory, gpus, env);
    return env;
}

Result<GpuEdits> container_edits(const Allocation& allocation, const PodUid& pod,
                                 const NodeName& node, std::string_view name,
                                 const NodeInventory& inventory) {
    if (allocation.pod != pod || allocation.node != node) {
        return fail(
            Code::conflict,
            fmt::format("the annotation tessera.dev/allocation was made for pod uid {} on node "
                        "{}; remove it from the pod's manifest and create the pod again",
                        allocation.pod.str(), allocation.node.str()));
    }
    const ContainerAllocation* container = find_container(allocation, name);
    if (container == nullptr) {
        return fail(Code::not_found, fmt::format("the allocation has no container {}", name));
    }
    GpuEdits out;
    for (const GpuShare& share : container->gpus) {
        const Gpu* gpu = find_gpu(inventory.gpus, share.uuid);
        if (gpu == nullptr) {
            return fail(
                Code::unavailable,
                fmt::format("GPU {} is no longer on this node; delete the pod to have it placed "
                            "again",
                            share.uuid.str()));
        }
        if (!gpu->usable()) {
            return fail(Code::unavailable,
                        fmt::format("GPU {} is {}: {}; delete the pod to have "
                                    "it placed again",
                                    share.uuid.str(), words_of(gpu->condition), gpu->reason));
        }
        out.gpus.push_back(*gpu);
    }
    out.env = share_env(*container, inventory.gpus);
    return out;
}

}  // namespace tessera

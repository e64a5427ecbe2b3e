#include "domain/handover/handover.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

std::int64_t units(Bytes bytes, MemoryUnit unit) {
    return bytes.count / bytes_per_unit(unit).count;
}

// docs/research/gpushare.md §1.4. POD is the pod's peak, as in the annotation. gpushare sets it to
// the container's own amount, because kubelet asks for one container at a time
// (docs/compat/gpushare.md).
void add_aliyun(const Allocation& allocation, const ContainerAllocation& container,
                const NodeInventory& inventory, Handover& out) {
    Bytes own;
    for (const GpuShare& share : container.gpus)
        own += share.memory;
    Bytes pod;
    for (const Hold& hold : holds(allocation.containers))
        pod += hold.memory;
    const MemoryUnit unit = inventory.unit;
    const Gpu& first = out.gpus.front();
    out.env.emplace_back("ALIYUN_COM_GPU_MEM_IDX", std::to_string(first.index));
    out.env.emplace_back("ALIYUN_COM_GPU_MEM_POD", std::to_string(units(pod, unit)));
    out.env.emplace_back("ALIYUN_COM_GPU_MEM_CONTAINER", std::to_string(units(own, unit)));
    out.env.emplace_back("ALIYUN_COM_GPU_MEM_DEV", std::to_string(units(first.capacity(), unit)));
}

}  // namespace

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

Result<Handover> hand_over(const Allocation& allocation, const PodUid& pod, const NodeName& node,
                           std::string_view name, const NodeInventory& inventory) {
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
    Handover out;
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
    if (allocation.dialect == DialectId::aliyun) add_aliyun(allocation, *container, inventory, out);
    return out;
}

}  // namespace tessera

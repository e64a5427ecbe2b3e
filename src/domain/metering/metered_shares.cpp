#include "domain/metering/metered_shares.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace tessera {
namespace {

struct Amounts {
    Bytes memory;
    Percent compute;
};

// What the containers have of one GPU.
struct OnGpu {
    std::map<std::string, Amounts> running;  // of app containers and sidecars
    std::string init;                        // the init container with the most memory
    Bytes init_memory{-1};
    std::string whole;  // the first container that has the whole GPU
};

void add(OnGpu& on, const ContainerAllocation& container, const GpuShare& share) {
    if (share.whole && on.whole.empty()) on.whole = container.container;
    if (container.kind == ContainerKind::init) {
        if (share.memory <= on.init_memory) return;
        on.init = container.container;
        on.init_memory = share.memory;
        return;
    }
    Amounts& amounts = on.running[container.container];
    amounts.memory += share.memory;
    amounts.compute = amounts.compute + share.cores;
}

// What the init containers have at a time beyond what the others have later.
void add_rest(OnGpu& on, const GpuAllocation& reserved) {
    Amounts rest{reserved.memory, reserved.cores};
    for (const auto& [container, amounts] : on.running) {
        rest.memory -= amounts.memory;
        rest.compute = rest.compute - amounts.compute;
    }
    if (rest.memory <= Bytes{} && rest.compute <= Percent{0}) return;
    on.running[on.init] = {std::max(rest.memory, Bytes{}), std::max(rest.compute, Percent{0})};
}

void add_shares(std::vector<MeteredShare>& shares, const OnGpu& on, const Gpu& gpu) {
    const auto share = [&gpu](const std::string& container) {
        return MeteredShare{.container = container,
                            .gpu = gpu.uuid,
                            .model = gpu.model.empty() ? "unknown" : gpu.model,
                            .memory = {},
                            .capacity = gpu.capacity(),
                            .compute = {},
                            .whole = false};
    };
    if (!on.whole.empty()) {
        shares.push_back(share(on.whole));
        shares.back().whole = true;
        return;
    }
    for (const auto& [container, amounts] : on.running) {
        shares.push_back(share(container));
        // A limit that was lowered below what is in use may make the sum larger than the GPU.
        shares.back().memory = std::min(amounts.memory, gpu.capacity());
        shares.back().compute = std::min(amounts.compute, Percent{100});
    }
}

}  // namespace

std::vector<MeteredShare> metered_shares(const Allocation& allocation, std::span<const Gpu> gpus) {
    std::map<GpuUuid, OnGpu> by_gpu;
    for (const ContainerAllocation& container : allocation.containers) {
        for (const GpuShare& share : container.gpus)
            add(by_gpu[share.uuid], container, share);
    }
    std::vector<MeteredShare> shares;
    for (const GpuAllocation& reserved : allocated_by_gpu(allocation.containers)) {
        OnGpu& on = by_gpu[reserved.uuid];
        add_rest(on, reserved);
        const Gpu* gpu = find_gpu(gpus, reserved.uuid);
        if (gpu != nullptr && gpu->capacity() > Bytes{}) add_shares(shares, on, *gpu);
    }
    std::ranges::sort(shares);
    return shares;
}

UsageRecord usage_record(const PodUid& pod, const PodName& name, Window time,
                         const MeteredShare& share) {
    return {.pod = pod,
            .container = share.container,
            .gpu = share.gpu,
            .time = time,
            .name = name,
            .model = share.model,
            .memory = share.memory,
            .capacity = share.capacity,
            .compute = share.compute,
            .whole = share.whole};
}

MeteredShare share_of(const UsageRecord& record) {
    return {.container = record.container,
            .gpu = record.gpu,
            .model = record.model,
            .memory = record.memory,
            .capacity = record.capacity,
            .compute = record.compute,
            .whole = record.whole};
}

}  // namespace tessera

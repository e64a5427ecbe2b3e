#include "app/agent/start/injected.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/container_start/container_edits.hpp"
#include "domain/container_start/start_rules.hpp"

namespace tessera {

bool was_injected(const RuntimeContainer& container, const Allocation& allocation,
                  std::span<const Gpu> gpus, bool is_resized) {
    const ContainerAllocation* share = find_container(allocation, container.name);
    if (share == nullptr || allocation.pod != container.pod_uid) return false;
    return std::ranges::all_of(share_env(*share, gpus), [&](const auto& variable) {
        const auto values = values_of(container.env, variable.first);
        if (values.size() != 1) return false;
        if (is_resized && variable.first == kMemoryBytes) return true;
        // A vendor's CDI device may set "void" in place of our list, because it injects the GPUs
        // itself.
        return values[0] == variable.second ||
               (variable.first == kVisibleDevices && values[0] == kVoidDevices);
    });
}

Result<> check_devices(const RuntimeContainer& container, const ContainerAllocation& share,
                       std::span<const Gpu> gpus, CdiStore& cdi) {
    for (const GpuShare& part : share.gpus) {
        const Gpu* gpu = find_gpu(gpus, part.uuid);
        if (gpu == nullptr) continue;
        const auto device = cdi.vendor_device(gpu->uuid, gpu->minor);
        if (!device) continue;
        for (const std::string& path : device->device_nodes) {
            const auto& devices = container.setup.devices;
            if (std::ranges::find(devices, path) == devices.end())
                return fail(Code::conflict, fmt::format("device {} of {}", path, device->name));
        }
        for (const std::string& path : device->mounts) {
            const auto& mounts = container.setup.mounts;
            if (std::ranges::find(mounts, path, &ContainerMount::destination) == mounts.end())
                return fail(Code::conflict, fmt::format("mount {} of {}", path, device->name));
        }
    }
    return {};
}

}  // namespace tessera

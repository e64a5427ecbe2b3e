#include "domain/scheduling/resize_grant.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "domain/dialect/dialect.hpp"

namespace tessera {
namespace {

tl::unexpected<Error> refuse(Code code, std::string text) {
    return fail(code, std::move(text));
}

tl::unexpected<Error> refuse(const std::string& container, std::string_view what,
                             std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("container {}: {}: {}", container, what, why));
}

GpuShare with_amounts(GpuShare share, const RequestedShares::Container& requested) {
    share.memory = requested.memory.value_or(share.memory);
    share.cores = requested.cores.value_or(share.cores);
    share.cores_limit = requested.cores_limit.value_or(share.cores_limit);
    return share;
}

Result<> check_memory(const std::string& name, const GpuShare& share, const Allocation& of,
                      const ResizeRoom& room) {
    if (share.memory < kSmallestShare) {
        return refuse(name, "memory",
                      fmt::format("{} is less than {}, the smallest amount that a GPU allocates",
                                  to_string(share.memory), to_string(kSmallestShare)));
    }
    if (const CountedMemory* counted = of.dialect->counted_memory) {
        const Bytes unit = counted->unit(room.unit);
        if (share.memory.count % unit.count != 0) {
            return refuse(name, "memory",
                          fmt::format("{} is no multiple of {}, in which its node counts the "
                                      "pod's {}",
                                      to_string(share.memory), to_string(unit), counted->resource));
        }
    }
    const Gpu* gpu = find_gpu(room.gpus, share.uuid);
    if (gpu == nullptr || share.memory <= gpu->capacity()) return {};
    return refuse(name, "memory",
                  fmt::format("{} is more than GPU {} has, {}", rounded_up(share.memory),
                              gpu->index, rounded_down(gpu->capacity())));
}

Result<> check_compute(const std::string& name, const GpuShare& share) {
    if (share.cores.value < 0 || share.cores.value > 100) {
        return refuse(
            name, "cores",
            fmt::format("{} is not a percentage of one GPU; write 0 to 100", share.cores.value));
    }
    if (share.cores_limit.value < 1 || share.cores_limit > kNoCoresLimit) {
        return refuse(name, "compute limit",
                      fmt::format("{} is not a percentage of one GPU; write 1 to 100",
                                  share.cores_limit.value));
    }
    if (share.cores_limit >= share.cores) return {};
    return refuse(
        name, "compute limit",
        fmt::format("{} percent would be below the cores, {} percent; raise the compute limit "
                    "too",
                    share.cores_limit.value, share.cores.value));
}

Result<> change(Allocation& allocation, const RequestedShares::Container& requested,
                const ResizeRoom& room) {
    const ContainerAllocation* found = find_container(allocation, requested.name);
    if (found == nullptr) {
        std::string names;
        for (const ContainerAllocation& container : allocation.containers)
            names += (names.empty() ? "" : ", ") + container.container;
        return refuse(Code::not_found, fmt::format("the pod has no container {} with a share of a "
                                                   "GPU; it has {}",
                                                   requested.name, names));
    }
    auto& container =
        allocation.containers[static_cast<std::size_t>(found - allocation.containers.data())];
    for (GpuShare& share : container.gpus) {
        share = with_amounts(share, requested);
        if (requested.memory) TRY_VOID(check_memory(requested.name, share, allocation, room));
        TRY_VOID(check_compute(requested.name, share));
    }
    return {};
}

// What the pod has of one GPU before and after the resize.
struct Growth {
    GpuAllocation before;
    GpuAllocation after;

    [[nodiscard]] bool of_memory() const { return after.memory > before.memory; }
    [[nodiscard]] bool of_cores() const { return after.cores > before.cores; }
};

Result<> check_room(const Growth& growth, const ResizeRoom& room) {
    const Gpu* gpu = find_gpu(room.gpus, growth.after.uuid);
    if (gpu == nullptr) {
        return refuse(Code::unavailable,
                      fmt::format("GPU {} is no longer on this node", growth.after.uuid.str()));
    }
    const GpuState& state = room.states[static_cast<std::size_t>(gpu - room.gpus.data())];
    if (!state.usable) {
        return refuse(Code::unavailable,
                      fmt::format("GPU {} is out of use: {}", gpu->index, gpu->reason));
    }
    if (growth.of_memory() && growth.after.memory > state.free()) {
        return refuse(
            Code::unavailable,
            fmt::format("no room on GPU {}: the pod would hold {} of it, and beside the others "
                        "it can have {}",
                        gpu->index, rounded_up(growth.after.memory),
                        rounded_down(std::max(state.free(), Bytes{}))));
    }
    if (growth.of_cores() && (state.allocated_cores + growth.after.cores).value > 100) {
        return refuse(
            Code::unavailable,
            fmt::format("no room on GPU {}: the pod would be guaranteed {} percent of it, and "
                        "beside the others it can have {}",
                        gpu->index, growth.after.cores.value,
                        std::max(100 - state.allocated_cores.value, 0)));
    }
    return {};
}

}  // namespace

Result<> check_has_shares(const RequestedShares& requested, const Allocation& now) {
    for (const RequestedShares::Container& container : requested.containers) {
        const ContainerAllocation* found = find_container(now, container.name);
        if (found == nullptr || std::ranges::none_of(found->gpus, &GpuShare::whole)) continue;
        return refuse(
            Code::unsupported,
            fmt::format("container {} has whole GPUs: there is nothing to resize", container.name));
    }
    return {};
}

Result<Allocation> resize(const Allocation& now, const RequestedShares& requested,
                          const ResizeRoom& room) {
    Allocation after = now;
    ++after.revision;
    TRY_VOID(check_has_shares(requested, now));
    for (const RequestedShares::Container& container : requested.containers)
        TRY_VOID(change(after, container, room));
    const auto allocated = allocated_by_gpu(now.containers);
    const auto wanted = allocated_by_gpu(after.containers);
    for (std::size_t i = 0; i < allocated.size(); ++i) {  // of the same GPUs
        const Growth growth{allocated[i], wanted[i]};
        if (growth.of_memory() || growth.of_cores()) TRY_VOID(check_room(growth, room));
    }
    return after;
}

}  // namespace tessera

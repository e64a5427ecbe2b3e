#include "domain/dialect/native.hpp"

#include <fmt/format.h>

#include <array>

#include "domain/dialect/amounts.hpp"

namespace tessera {
namespace {

constexpr std::array kResources = {resource::kGpu, resource::kGpuMemory, resource::kGpuCores};

Result<std::optional<GpuRequest>> read_container(const ContainerSpec& container) {
    TRY(const Amounts amounts, read_amounts(container, kResources));
    const auto count = amount_of(amounts, resource::kGpu);
    const auto memory = amount_of(amounts, resource::kGpuMemory);
    // An explicit zero requests no GPU at all, like cpu: 0. Other amounts contradict it.
    if (count.value_or(0) == 0) {
        if (amounts.size() == (count ? 1U : 0U)) return std::optional<GpuRequest>{};
        return refuse_amount(container, memory ? resource::kGpuMemory : resource::kGpuCores,
                             fmt::format("needs {}: 1 beside it (the number of GPUs to take it "
                                         "from)",
                                         resource::kGpu));
    }
    GpuRequest request{.dialect = &kNativeDialect};
    TRY(request.gpus, read_count(container, resource::kGpu, *count));
    TRY(request.cores, read_cores(container, amounts, resource::kGpuCores));
    if (memory) {
        if (*memory == 0) {
            return refuse_amount(container, resource::kGpuMemory,
                                 "is zero; write the bytes that you need on each GPU, such as 3Gi");
        }
        if (*memory < kMiB) {
            return refuse_amount(
                container, resource::kGpuMemory,
                fmt::format("is {} bytes; is the unit missing? Write at least 1Mi, such "
                            "as 3Gi",
                            *memory));
        }
        TRY(const auto bytes, read_memory(container, resource::kGpuMemory, *memory, kMaxMemory));
        request.memory = {MemoryRequest::Kind::bytes, bytes};
    } else if (request.cores.value != 0) {
        return refuse_amount(container, resource::kGpuCores,
                             fmt::format("needs {} beside it, such as 3Gi", resource::kGpuMemory));
    }
    return std::optional(request);
}

Result<ContainerRequests> read(const GpuTexts& texts) {
    ContainerRequests request;
    for (const ContainerSpec& container : texts.containers) {
        TRY(const auto gpu, read_container(container));
        if (gpu) request.push_back({container.name, container.kind, *gpu});
    }
    return request;
}

constexpr std::array kLists = {
    DeviceList{resource::kGpu, "-slot-",
               [](const NodeInventory&, const Gpu&, int slots_per_gpu) {
                   return std::int64_t{slots_per_gpu};
               },
               "lower slots_per_gpu"},
};

void add_amounts(const NodeInventory& node, StringMap& amounts) {
    std::int64_t memory = 0;
    for (const Gpu& gpu : node.gpus)
        memory += gpu.capacity().count;
    amounts.emplace(resource::kGpuMemory, std::to_string(memory));
    amounts.emplace(resource::kGpuCores, std::to_string(node.gpus.size() * 100));
}

}  // namespace

constinit const Dialect kNativeDialect = {
    .name = "native",
    .summary = "tessera.dev/*: GPUs, bytes and percent per GPU",
    .resources = kResources,
    .annotations = {},
    .hints = {},
    .read = read,
    .device_lists = kLists,
    .add_amounts = add_amounts,
    .former_variable = {},
};

}  // namespace tessera

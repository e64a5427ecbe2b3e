#include "domain/dialect/native.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "domain/allocation/resize.hpp"
#include "domain/dialect/amounts.hpp"

namespace tessera {
namespace {

constexpr std::array kResources = {resource::kGpu, resource::kGpuShare, resource::kGpuMemory,
                                   resource::kGpuCores};

Result<std::optional<GpuRequest>> read_whole_gpus(const ContainerSpec& container,
                                                  const Amounts& amounts) {
    const std::int64_t count = *amount_of(amounts, resource::kGpu);
    if (amount_of(amounts, resource::kGpuShare)) {
        return refuse_amount(
            container, resource::kGpu,
            fmt::format("stands beside {}; ask for whole GPUs or for shares in one "
                        "container",
                        resource::kGpuShare));
    }
    const auto other = std::ranges::find_if(
        amounts, [](const auto& amount) { return amount.first != resource::kGpu; });
    if (other != amounts.end()) {
        return refuse_amount(
            container, resource::kGpu,
            fmt::format("counts whole GPUs, so {} beside it has no meaning; for {} of a GPU's "
                        "memory and compute write {}: {} instead",
                        other->first, count == 1 ? "a share" : "shares", resource::kGpuShare,
                        count));
    }
    GpuRequest request{.dialect = &kNativeDialect};
    TRY(request.gpus, read_count(container, resource::kGpu, count));
    return std::optional(request);
}

Result<MemoryRequest> read_share_memory(const ContainerSpec& container, const Amounts& amounts) {
    const auto memory = amount_of(amounts, resource::kGpuMemory);
    if (!memory) {
        return refuse_amount(container, resource::kGpuShare,
                             fmt::format("needs {} beside it, such as 3Gi; for whole GPUs write {}",
                                         resource::kGpuMemory, resource::kGpu));
    }
    if (*memory == 0) {
        return refuse_amount(container, resource::kGpuMemory,
                             "is zero; write the bytes that you need on each GPU, such as 3Gi");
    }
    if (*memory < kSmallestShare.count) {
        return refuse_amount(
            container, resource::kGpuMemory,
            fmt::format("is {} bytes; is the unit missing? Write at least 2Mi, such as 3Gi",
                        *memory));
    }
    TRY(const auto bytes, read_memory(container, resource::kGpuMemory, *memory, kMaxMemory));
    return MemoryRequest{MemoryRequest::Kind::bytes, bytes};
}

Result<std::optional<GpuRequest>> read_container(const ContainerSpec& container) {
    TRY(Amounts amounts, read_amounts(container, kResources));
    // An explicit zero requests no GPU at all, like cpu: 0. Other amounts contradict it.
    std::erase_if(amounts, [](const auto& amount) {
        const bool is_count = amount.first == resource::kGpu || amount.first == resource::kGpuShare;
        return is_count && amount.second == 0;
    });
    if (amounts.empty()) return std::optional<GpuRequest>{};
    if (amount_of(amounts, resource::kGpu)) return read_whole_gpus(container, amounts);
    const auto shares = amount_of(amounts, resource::kGpuShare);
    if (!shares) {
        const bool has_memory = amount_of(amounts, resource::kGpuMemory).has_value();
        return refuse_amount(
            container, amounts.front().first,
            fmt::format("needs {}: 1 beside it (the number of GPUs to take it from){}",
                        resource::kGpuShare,
                        has_memory ? std::string()
                                   : fmt::format(", and {}, such as 3Gi", resource::kGpuMemory)));
    }
    GpuRequest request{.dialect = &kNativeDialect};
    TRY(request.gpus, read_count(container, resource::kGpuShare, *shares));
    TRY(request.memory, read_share_memory(container, amounts));
    TRY(request.cores, read_cores(container, amounts, resource::kGpuCores));
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

// One share is what a container with an amount of memory means.
std::optional<std::pair<std::string, std::string>> missing_limit(const ContainerSpec& container) {
    const auto has = [&](std::string_view resource) {
        return std::ranges::find(container.limits, resource,
                                 &std::pair<std::string, std::string>::first) !=
               container.limits.end();
    };
    if (!has(resource::kGpuMemory) || has(resource::kGpuShare) || has(resource::kGpu))
        return std::nullopt;
    return std::pair(std::string(resource::kGpuShare), std::string("1"));
}

constexpr std::array kLists = {
    DeviceList{resource::kGpu, "-gpu-",
               [](const NodeInventory&, const Gpu&, int) { return std::int64_t{1}; },
               "have fewer GPUs on the node"},
    DeviceList{resource::kGpuShare, "-slot-",
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
    .summary = "tessera.dev/*: whole GPUs, or shares with bytes and percent of a GPU",
    .resources = kResources,
    .annotations = {},
    .hints = {},
    .read = read,
    .missing_limit = missing_limit,
    .device_lists = kLists,
    .add_amounts = add_amounts,
    .former_variable = {},
};

}  // namespace tessera

#include "domain/request/dialect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tessera {
namespace {

constexpr std::array kNativeResources = {resource::kGpu, resource::kGpuMemory, resource::kGpuCores};
constexpr std::array kAliyunResources = {resource::kAliyunMem, resource::kAliyunCount,
                                         resource::kAliyunCores};

constexpr std::array kDialects = {
    Dialect{DialectId::native, "native", "tessera.dev/*: GPUs, bytes and percent per GPU",
            resource::kGpu, kNativeResources},
    Dialect{DialectId::aliyun, "aliyun", "aliyun.com/gpu-mem as gpushare reads it",
            resource::kAliyunMem, kAliyunResources},
};

const Dialect* dialect_of(std::string_view resource) {
    for (const Dialect& row : kDialects) {
        if (std::ranges::find(row.resources, resource) != row.resources.end()) return &row;
    }
    return nullptr;
}

// The amounts of one container by resource; a missing amount differs from zero.
using Amounts = std::vector<std::pair<std::string_view, std::int64_t>>;

std::optional<std::int64_t> amount(const Amounts& amounts, std::string_view resource) {
    for (const auto& [name, value] : amounts) {
        if (name == resource) return value;
    }
    return std::nullopt;
}

tl::unexpected<Error> refuse(const ContainerSpec& container, std::string_view resource,
                             std::string_view why) {
    // This one may come from the pod's label (wire/kube/kube_objects.cpp).
    const bool may_be_label = resource == resource::kAliyunCount;
    return fail(Code::invalid_argument,
                fmt::format("container {}: {}: {}{}", container.name, resource, why,
                            may_be_label ? " (in the limits, or in the pod's label)" : ""));
}

Result<Amounts> read_amounts(const ContainerSpec& container) {
    Amounts amounts;
    for (const auto& [name, text] : container.limits) {
        if (!is_gpu_resource(name)) continue;
        auto value = parse_whole_quantity(text);
        if (!value) return refuse(container, name, value.error().text);
        amounts.emplace_back(name, *value);
    }
    return amounts;
}

Result<Percent> read_cores(const ContainerSpec& container, const Amounts& amounts,
                           std::string_view resource) {
    const auto cores = amount(amounts, resource);
    if (!cores) return Percent{0};
    if (*cores < 1 || *cores > 100) {
        return refuse(container, resource,
                      fmt::format("{} is not a percentage of one GPU; write 1 to 100, or leave "
                                  "it out for no guarantee",
                                  *cores));
    }
    return Percent{static_cast<int>(*cores)};
}

Result<int> read_count(const ContainerSpec& container, std::string_view resource,
                       std::int64_t count) {
    if (count >= 1 && count <= kMaxGpusPerContainer) return static_cast<int>(count);
    return refuse(container, resource,
                  fmt::format("{} GPUs; write 1 to {}", count, kMaxGpusPerContainer));
}

// More than any GPU has. The limit keeps all later multiplications within int64.
constexpr std::int64_t kMaxAmount = std::int64_t{1} << 50;
constexpr std::int64_t kMaxUnits = kMaxAmount / kGiB;

Result<std::int64_t> read_memory(const ContainerSpec& container, std::string_view resource,
                                 std::int64_t amount, std::int64_t most) {
    if (amount <= most) return amount;
    return refuse(container, resource,
                  fmt::format("{} is more than any GPU has; is the unit right?", amount));
}

Result<std::optional<GpuRequest>> read_native(const ContainerSpec& container,
                                              const Amounts& amounts) {
    const auto count = amount(amounts, resource::kGpu);
    const auto memory = amount(amounts, resource::kGpuMemory);
    // An explicit zero requests no GPU at all, like cpu: 0. Other amounts contradict it.
    if (count.value_or(0) == 0) {
        if (amounts.size() == (count ? 1U : 0U)) return std::optional<GpuRequest>{};
        return refuse(container, memory ? resource::kGpuMemory : resource::kGpuCores,
                      fmt::format("needs {}: 1 beside it (the number of GPUs to take it from)",
                                  resource::kGpu));
    }
    GpuRequest request{.dialect = DialectId::native};
    TRY(request.gpus, read_count(container, resource::kGpu, *count));
    TRY(request.cores, read_cores(container, amounts, resource::kGpuCores));
    if (memory) {
        if (*memory == 0) {
            return refuse(container, resource::kGpuMemory,
                          "is zero; write the bytes that you need on each GPU, such as 3Gi");
        }
        if (*memory < kMiB) {
            return refuse(container, resource::kGpuMemory,
                          fmt::format("is {} bytes; is the unit missing? Write at least 1Mi, such "
                                      "as 3Gi",
                                      *memory));
        }
        TRY(const auto bytes, read_memory(container, resource::kGpuMemory, *memory, kMaxAmount));
        request.memory = {MemoryRequest::Kind::bytes, bytes};
    } else if (request.cores.value != 0) {
        return refuse(container, resource::kGpuCores,
                      fmt::format("needs {} beside it, such as 3Gi", resource::kGpuMemory));
    }
    return std::optional(request);
}

Result<std::optional<GpuRequest>> read_aliyun(const ContainerSpec& container,
                                              const Amounts& amounts) {
    const auto memory = amount(amounts, resource::kAliyunMem);
    if (memory.value_or(0) == 0) {
        const bool nothing_else = amounts.size() == (memory ? 1U : 0U);
        if (nothing_else) return std::optional<GpuRequest>{};
        const bool counts = amount(amounts, resource::kAliyunCount).has_value();
        return refuse(container, counts ? resource::kAliyunCount : resource::kAliyunCores,
                      fmt::format("needs {} beside it, such as 3", resource::kAliyunMem));
    }
    GpuRequest request{.dialect = DialectId::aliyun};
    if (const auto count = amount(amounts, resource::kAliyunCount)) {
        TRY(request.gpus, read_count(container, resource::kAliyunCount, *count));
    }
    // The amount is the container's sum over its GPUs (Alibaba's multi-GPU sharing), in node
    // units.
    if (*memory % request.gpus != 0) {
        return refuse(container, resource::kAliyunMem,
                      fmt::format("{} does not divide by {} GPUs; write a multiple of {}", *memory,
                                  request.gpus, request.gpus));
    }
    TRY(const auto units, read_memory(container, resource::kAliyunMem, *memory, kMaxUnits));
    request.memory = {MemoryRequest::Kind::node_units, units / request.gpus};
    TRY(request.cores, read_cores(container, amounts, resource::kAliyunCores));
    return std::optional(request);
}

Result<std::optional<GpuRequest>> read_container(const ContainerSpec& container,
                                                 const Dialect& row) {
    TRY(const Amounts amounts, read_amounts(container));
    switch (row.id) {
        case DialectId::native:
            return read_native(container, amounts);
        case DialectId::aliyun:
            return read_aliyun(container, amounts);
    }
    return fail(Code::internal, "a dialect without a reader");
}

tl::unexpected<Error> refuse_cores_limit(std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("annotation {}: {}", kCoresLimit, why));
}

Result<> set_cores_limit(const std::string& text, ContainerRequests& request) {
    const auto percent = parse_whole_quantity(text);
    if (!percent || *percent < 1 || *percent > 100) {
        return refuse_cores_limit(fmt::format(
            "\"{}\" is not a percentage of one GPU; write 1 to 100", text.substr(0, 32)));
    }
    const Percent cores_limit{static_cast<int>(*percent)};
    bool has_share = request.empty();  // nothing to check if the pod requests no GPU
    for (ContainerRequest& container : request) {
        if (container.gpu.memory.kind == MemoryRequest::Kind::whole_gpu) continue;
        has_share = true;
        if (container.gpu.cores > cores_limit) {
            return refuse_cores_limit(fmt::format(
                "{} is below the {} percent that container {} asks for; write {} or more",
                cores_limit.value, container.gpu.cores.value, container.container,
                container.gpu.cores.value));
        }
        container.gpu.cores_limit = cores_limit;
    }
    if (has_share) return {};
    return refuse_cores_limit(
        "the pod has only whole GPUs, which have no compute limit; remove it");
}

// The dialect of a pod, or an error that names two resources of different dialects.
Result<const Dialect*> dialect_of_pod(std::span<const ContainerSpec> containers) {
    const Dialect* found = nullptr;
    std::string_view first;
    for (const ContainerSpec& container : containers) {
        for (const auto& [name, text] : container.limits) {
            const Dialect* row = dialect_of(name);
            if (row == nullptr || row == found) continue;
            if (found != nullptr) {
                return refuse(
                    container, name,
                    fmt::format("stands beside {}; write the pod in one dialect, either {} "
                                "or {}",
                                first, found->name, row->name));
            }
            found = row;
            first = name;
        }
    }
    return found;
}

}  // namespace

std::span<const Dialect> dialects() {
    return kDialects;
}

const Dialect& dialect(DialectId id) {
    return kDialects.at(static_cast<std::size_t>(id));
}

bool is_gpu_resource(std::string_view resource) {
    return dialect_of(resource) != nullptr;
}

Result<ContainerRequests> parse_container_requests(std::span<const ContainerSpec> containers) {
    TRY(const Dialect* row, dialect_of_pod(containers));
    ContainerRequests request;
    if (row == nullptr) return request;
    for (const ContainerSpec& container : containers) {
        TRY(const auto gpu, read_container(container, *row));
        if (gpu) request.push_back({container.name, container.kind, *gpu});
    }
    // The annotation is the pod's, so all containers have the same text.
    if (const auto& cores_limit = containers.front().cores_limit) {
        TRY_VOID(set_cores_limit(*cores_limit, request));
    }
    return request;
}

}  // namespace tessera

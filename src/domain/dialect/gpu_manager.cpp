#include "domain/dialect/gpu_manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "domain/dialect/amounts.hpp"

namespace tessera {
namespace {

constexpr std::array kResources = {resource::kVcudaCore, resource::kVcudaMemory};
constexpr std::array kHints = {key::kVcudaCoreLimit};

constexpr Bytes kUnit = mebibytes(256);
constexpr std::int64_t kMaxUnits = kMaxMemory / kUnit.count;
constexpr std::int64_t kCoresOfGpu = 100;
constexpr std::int64_t kMaxCores = kCoresOfGpu * kMaxGpusPerContainer;

std::int64_t units(Bytes bytes) {
    return bytes.count / kUnit.count;
}

// gpu-manager ignores the memory beside whole GPUs, and enforces nothing there.
Result<std::optional<GpuRequest>> read_whole_gpus(const ContainerSpec& container,
                                                  std::int64_t cores) {
    if (cores > kMaxCores) {
        return refuse_amount(container, resource::kVcudaCore,
                             fmt::format("{} is more than {} GPUs have; write at most {}", cores,
                                         kMaxGpusPerContainer, kMaxCores));
    }
    if (cores % kCoresOfGpu != 0) {
        const std::int64_t below = cores - cores % kCoresOfGpu;
        return refuse_amount(
            container, resource::kVcudaCore,
            fmt::format("{} is neither a share of one GPU (1 to 99) nor a multiple "
                        "of 100 (whole GPUs); write {} or {}",
                        cores, below, below + kCoresOfGpu));
    }
    GpuRequest request{.dialect = &kGpuManagerDialect};
    request.gpus = static_cast<int>(cores / kCoresOfGpu);
    return std::optional(request);
}

// Nothing if both amounts are zero or missing.
Result<std::optional<GpuRequest>> read_container(const ContainerSpec& container) {
    TRY(const Amounts amounts, read_amounts(container, kResources));
    const std::int64_t cores = amount_of(amounts, resource::kVcudaCore).value_or(0);
    const std::int64_t memory = amount_of(amounts, resource::kVcudaMemory).value_or(0);
    if (cores == 0 && memory == 0) return std::optional<GpuRequest>{};
    if (cores == 0) {
        return refuse_amount(
            container, resource::kVcudaMemory,
            fmt::format("{} needs {} beside it, in percent of a GPU's compute time, such as 50",
                        memory, resource::kVcudaCore));
    }
    if (cores >= kCoresOfGpu) return read_whole_gpus(container, cores);
    if (memory == 0) {
        return refuse_amount(
            container, resource::kVcudaCore,
            fmt::format("{} is a share of a GPU and needs {} beside it, in units of 256 MiB, such "
                        "as 15; for a whole GPU write 100",
                        cores, resource::kVcudaMemory));
    }
    TRY(const auto amount, read_memory(container, resource::kVcudaMemory, memory, kMaxUnits));
    GpuRequest request{.dialect = &kGpuManagerDialect};
    request.memory = {MemoryRequest::Kind::bytes, amount * kUnit.count};
    request.cores = request.cores_limit = Percent{static_cast<int>(cores)};
    return std::optional(request);
}

tl::unexpected<Error> refuse_limit(std::string_view why) {
    return fail(Code::invalid_argument,
                fmt::format("annotation {}: {}", key::kVcudaCoreLimit, why));
}

// Raises the compute limit of each share. Whole GPUs have none.
Result<> raise_limits(const std::string& text, ContainerRequests& request) {
    std::int64_t percent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    if (error != std::errc{} || end != text.data() + text.size() || percent < 1) {
        return refuse_limit(
            fmt::format("\"{}\" is not a percentage of one GPU; write 1 to 100, without a unit",
                        text.substr(0, 32)));
    }
    const Percent limit{static_cast<int>(std::min<std::int64_t>(percent, kNoCoresLimit.value))};
    for (ContainerRequest& container : request) {
        if (container.gpu.memory.kind == MemoryRequest::Kind::whole_gpu) continue;
        if (container.gpu.cores > limit) {
            return refuse_limit(
                fmt::format("{} is below the {} of {} that container {} asks for; write {} or more",
                            limit.value, container.gpu.cores.value, resource::kVcudaCore,
                            container.container, container.gpu.cores.value));
        }
        container.gpu.cores_limit = limit;
    }
    return {};
}

Result<ContainerRequests> read(const GpuTexts& texts) {
    ContainerRequests request;
    for (const ContainerSpec& container : texts.containers) {
        TRY(const auto gpu, read_container(container));
        if (gpu) request.push_back({container.name, container.kind, *gpu});
    }
    const auto limit = texts.annotations.find(key::kVcudaCoreLimit);
    if (request.empty() || limit == texts.annotations.end()) return request;
    if (texts.cores_limit)
        return refuse_limit(fmt::format("stands beside {}; write one of them", kCoresLimit));
    TRY_VOID(raise_limits(limit->second, request));
    return request;
}

// gpu-manager's ids are tencent.com/vcuda-core-<i> and tencent.com/vcuda-memory-268435456-<i>,
// which name no GPU. Ours do, as those of the other dialects: a GPU that fails or disappears takes
// its own devices along, and the ids of the other GPUs stay. Users see only the sums, which are
// gpu-manager's. The sockets have the names of its plugins', so that no socket of them stays.
constexpr std::string_view kFix = "remove gpu-manager from `dialects`";
constexpr std::array kLists = {
    DeviceList{.resource = resource::kVcudaCore,
               .separator = "-vcuda-core-",
               .count = [](const NodeInventory&, const Gpu&, int) { return kCoresOfGpu; },
               .fix = kFix,
               .socket = "vcore.sock"},
    DeviceList{
        .resource = resource::kVcudaMemory,
        .separator = "-vcuda-memory-",
        .count = [](const NodeInventory&, const Gpu& gpu, int) { return units(gpu.capacity()); },
        .fix = kFix,
        .socket = "vmemory.sock"},
};

constexpr CountedMemory kCountedMemory = {resource::kVcudaMemory, [](MemoryUnit) { return kUnit; }};

// kPredicateGpuIndex with each number that annotate() writes.
constexpr auto kPredicateGpuIndexes = std::to_array<std::string_view>(
    {"tencent.com/predicate-gpu-idx-0", "tencent.com/predicate-gpu-idx-1",
     "tencent.com/predicate-gpu-idx-2", "tencent.com/predicate-gpu-idx-3",
     "tencent.com/predicate-gpu-idx-4", "tencent.com/predicate-gpu-idx-5",
     "tencent.com/predicate-gpu-idx-6", "tencent.com/predicate-gpu-idx-7"});

// The indexes of the GPUs of each app container, which is counted among those that request GPUs:
// the allocation does not have the others. gpu-manager ignores init containers.
void annotate(const Allocation& allocation, const NodeInventory&, std::int64_t unix_ns,
              StringMap& out) {
    std::size_t number = 0;
    for (const ContainerAllocation& container : allocation.containers) {
        if (container.kind != ContainerKind::app || number == kPredicateGpuIndexes.size()) continue;
        std::string indexes;
        for (const GpuShare& share : container.gpus)
            indexes += fmt::format("{}{}", indexes.empty() ? "" : ",", share.index);
        out.emplace(kPredicateGpuIndexes[number], std::move(indexes));
        ++number;
    }
    out.emplace(key::kPredicateNode, allocation.node.str());
    out.emplace(key::kPredicateTime, std::to_string(unix_ns));
    out.emplace(key::kGpuAssigned, "true");
}

constexpr std::array kWritten = {
    kPredicateGpuIndexes[0], kPredicateGpuIndexes[1], kPredicateGpuIndexes[2],
    kPredicateGpuIndexes[3], kPredicateGpuIndexes[4], kPredicateGpuIndexes[5],
    kPredicateGpuIndexes[6], kPredicateGpuIndexes[7], key::kPredicateNode,
    key::kPredicateTime,     key::kGpuAssigned};

}  // namespace

// Nodes and pods of gpu-manager are not taken over. Its annotations have no amounts. Its library
// in a running container registers each new process with gpu-manager, so such a container cannot
// run without it.
constinit const Dialect kGpuManagerDialect = {
    .name = "gpu-manager",
    .summary = "tencent.com/vcuda-core and vcuda-memory as Tencent's gpu-manager reads them",
    .resources = kResources,
    .annotations = {},
    .hints = kHints,
    .read = read,
    .device_lists = kLists,
    .counted_memory = &kCountedMemory,
    .annotate = annotate,
    .written_annotations = kWritten,
    // The plugin of vcuda-core sets it, the one of vcuda-memory does not.
    .former_variable = "LD_LIBRARY_PATH",
};

}  // namespace tessera

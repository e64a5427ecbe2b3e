#include "domain/dialect/gpushare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "domain/dialect/amounts.hpp"

namespace tessera {
namespace {

constexpr std::array kResources = {resource::kAliyunMem, resource::kAliyunCount,
                                   resource::kAliyunCores};
// Alibaba Cloud's manifests give the number of GPUs as a label of the pod, next to the limits;
// kubelet does not count the label.
constexpr std::array kHints = {resource::kAliyunCount};
constexpr std::int64_t kMaxUnits = kMaxMemory / kGiB;

std::int64_t units(Bytes bytes, MemoryUnit unit) {
    return bytes.count / bytes_per_unit(unit).count;
}

Result<std::optional<GpuRequest>> read_container(const ContainerSpec& container) {
    TRY(const Amounts amounts, read_amounts(container, kResources));
    const auto memory = amount_of(amounts, resource::kAliyunMem);
    const auto count = amount_of(amounts, resource::kAliyunCount);
    if (memory.value_or(0) == 0) {
        const bool nothing_else = amounts.size() == (memory ? 1U : 0U);
        if (nothing_else) return std::optional<GpuRequest>{};
        return refuse_amount(container, count ? resource::kAliyunCount : resource::kAliyunCores,
                             fmt::format("needs {} beside it, such as 3", resource::kAliyunMem));
    }
    GpuRequest request{.dialect = &kGpushareDialect};
    if (count) {
        TRY(request.gpus, read_count(container, resource::kAliyunCount, *count));
    }
    // The amount is the container's sum over its GPUs (Alibaba's multi-GPU sharing), in node
    // units.
    if (*memory % request.gpus != 0) {
        return refuse_amount(container, resource::kAliyunMem,
                             fmt::format("{} does not divide by {} GPUs; write a multiple of {}",
                                         *memory, request.gpus, request.gpus));
    }
    TRY(const auto units, read_memory(container, resource::kAliyunMem, *memory, kMaxUnits));
    request.memory = {MemoryRequest::Kind::node_units, units / request.gpus};
    TRY(request.cores, read_cores(container, amounts, resource::kAliyunCores));
    return std::optional(request);
}

bool has_limit(const ContainerSpec& container, std::string_view resource) {
    return std::ranges::any_of(container.limits,
                               [&](const auto& limit) { return limit.first == resource; });
}

// The number of GPUs may come from the label, so an error about it names both places.
Error with_places(const ContainerSpec& container, Error error) {
    const auto about_count =
        fmt::format("container {}: {}: ", container.name, resource::kAliyunCount);
    if (error.text.starts_with(about_count))
        error.text += " (in the limits, or in the pod's label)";
    return error;
}

Result<ContainerRequests> read(const GpuTexts& texts) {
    const auto label = texts.labels.find(resource::kAliyunCount);
    ContainerRequests request;
    for (const ContainerSpec& given : texts.containers) {
        ContainerSpec container = given;
        if (label != texts.labels.end() && has_limit(given, resource::kAliyunMem) &&
            !has_limit(given, resource::kAliyunCount))
            container.limits.emplace_back(resource::kAliyunCount, label->second);
        auto gpu = read_container(container);
        if (!gpu) return fail(with_places(container, std::move(gpu).error()));
        if (*gpu) request.push_back({container.name, container.kind, **gpu});
    }
    return request;
}

constexpr std::array kLists = {
    // gpushare's own format of ids, so that kubelet's checkpoint stays readable when Tessera takes
    // a node over. The socket has the name of gpushare's plugin, so that the socket of a former
    // plugin does not stay beside ours.
    DeviceList{.resource = resource::kAliyunMem,
               .separator = "-_-",
               .count = [](const NodeInventory& node, const Gpu& gpu,
                           int) { return units(gpu.capacity(), node.unit); },
               .fix = "set memory_unit to GiB; pods that need finer amounts ask for "
                      "tessera.dev/gpu-memory",
               .socket = "aliyungpushare.sock"},
};

void add_amounts(const NodeInventory& node, StringMap& amounts) {
    amounts.emplace(resource::kAliyunCount, std::to_string(node.gpus.size()));
}

constexpr CountedMemory kCountedMemory = {resource::kAliyunMem, bytes_per_unit};

// What the pod has of all GPUs at its peak.
std::int64_t units_of_pod(const Allocation& allocation, MemoryUnit unit) {
    std::int64_t total = 0;
    for (const GpuAllocation& on_gpu : allocated_by_gpu(allocation.containers))
        total += units(on_gpu.memory, unit);
    return total;
}

// gpushare 2.0's JSON, which upstream's inspect tool reads first: units by container and by index.
std::string allocation_text(const Allocation& allocation, MemoryUnit unit) {
    std::string text = "{";
    std::size_t position = 0;
    for (const ContainerAllocation& container : allocation.containers) {
        text += fmt::format("{}\"{}\":{{", position == 0 ? "" : ",", position);
        ++position;
        for (std::size_t i = 0; i < container.gpus.size(); ++i) {
            const GpuShare& share = container.gpus[i];
            text += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", share.index,
                                units(share.memory, unit));
        }
        text += "}";
    }
    return text + "}";
}

bool has_several_gpus(const Allocation& allocation) {
    const GpuUuid& first = allocation.containers.front().gpus.front().uuid;
    return std::ranges::any_of(allocation.containers, [&](const ContainerAllocation& container) {
        return std::ranges::any_of(container.gpus,
                                   [&](const GpuShare& share) { return share.uuid != first; });
    });
}

// docs/research/gpushare.md §1.3. The index annotation fits one GPU only; several GPUs go into the
// JSON.
void annotate(const Allocation& allocation, const NodeInventory& node, std::int64_t unix_ns,
              StringMap& out) {
    const GpuShare& first = allocation.containers.front().gpus.front();
    const auto gpu = std::ranges::find(node.gpus, first.uuid, &Gpu::uuid);
    const std::int64_t gpu_units = gpu == node.gpus.end() ? 0 : units(gpu->capacity(), node.unit);
    const bool legacy = node.source == InventorySource::legacy;
    out.emplace(key::kAliyunIndex, std::to_string(first.index));
    out.emplace(key::kAliyunDev, std::to_string(gpu_units));
    out.emplace(key::kAliyunPod, std::to_string(units_of_pod(allocation, node.unit)));
    // gpushare's device plugin picks up the pods that say "false"; our agent does not need the
    // annotation.
    out.emplace(key::kAliyunAssigned, legacy ? "false" : "true");
    out.emplace(key::kAliyunAssumeTime, std::to_string(unix_ns));
    if (has_several_gpus(allocation))
        out.emplace(key::kGpushareAllocation, allocation_text(allocation, node.unit));
}

// docs/research/gpushare.md §1.4. POD is the pod's peak, as in the annotation. gpushare sets it to
// the container's own amount, because kubelet asks for one container at a time
// (docs/compat/gpushare.md). Arena's manifests compute TensorFlow's memory fraction as
// CONTAINER / DEV. TensorFlow applies it to the memory that it sees, so DEV is that.
void add_env(const Allocation& allocation, const ContainerAllocation& container,
             const NodeInventory& node, std::span<const Gpu> gpus,
             std::vector<std::pair<std::string, std::string>>& env) {
    Bytes own;
    for (const GpuShare& share : container.gpus)
        own += share.memory;
    // gpushare has one GPU for each container. If programs see their shares as the GPUs' memory,
    // CONTAINER / DEV is 1 for several GPUs, too.
    const Gpu& first = gpus.front();
    const bool sees_share = first.memory == container.gpus.front().memory;
    const Bytes size = sees_share ? own : first.capacity();
    env.emplace_back(key::kAliyunIndex, std::to_string(first.index));
    env.emplace_back(key::kAliyunPod, std::to_string(units_of_pod(allocation, node.unit)));
    env.emplace_back("ALIYUN_COM_GPU_MEM_CONTAINER", std::to_string(units(own, node.unit)));
    env.emplace_back(key::kAliyunDev, std::to_string(units(size, node.unit)));
}

constexpr std::int64_t kMaxFormerUnits = std::int64_t{1} << 20;
constexpr std::int64_t kMaxFormerIndex = 1024;

std::optional<std::int64_t> decimal(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// Adds up to one share per GPU, from what all containers were given there.
void add_share(LegacyAllocation& former, std::optional<std::int64_t> index,
               std::optional<std::int64_t> amount) {
    if (!index || !amount || *index < 0 || *index > kMaxFormerIndex || *amount < 1) return;
    auto share = std::ranges::find(former.shares, *index, &LegacyAllocation::Share::index);
    if (share == former.shares.end())
        share = former.shares.insert(share, {static_cast<int>(*index), 0});
    share->units = std::min(share->units + std::min(*amount, kMaxFormerUnits), kMaxFormerUnits);
}

// scheduler.framework.gpushare.allocation wins over the single index, as in gpushare's own tools.
std::optional<LegacyAllocation> former_allocation(const FormerAnnotations& from) {
    LegacyAllocation former{.dialect = &kGpushareDialect, .shares = {}};
    from.each_number(key::kGpushareAllocation, [&](const FormerAnnotations::Number& number) {
        add_share(former, decimal(number.inner), number.value);
    });
    if (former.shares.empty()) {
        const auto index = from.text(key::kAliyunIndex);
        const auto amount = from.text(key::kAliyunPod);
        if (index && amount) add_share(former, decimal(*index), decimal(*amount));
    }
    if (former.shares.empty()) return std::nullopt;
    return former;
}

// A GPU with more units than this is assumed to be counted in MiB. gpushare publishes no unit, and
// its own inspect tool guesses in the same way (docs/research/gpushare.md §3).
constexpr std::int64_t kLargestGpuInGib = 100;

std::int64_t amount_in(const std::map<std::string_view, std::int64_t>& capacity,
                       std::string_view resource) {
    const auto at = capacity.find(resource);
    return at == capacity.end() ? 0 : at->second;
}

void read_former_node(const std::map<std::string_view, std::int64_t>& capacity, bool has_agent,
                      NodeInventory& node) {
    node.gpu_mem = amount_in(capacity, resource::kAliyunMem);
    if (has_agent) return;
    const std::int64_t count =
        std::min<std::int64_t>(amount_in(capacity, resource::kAliyunCount), kMaxGpusPerContainer);
    if (count <= 0 || node.gpu_mem < count) return;  // no GPU, or none of a whole unit
    const std::int64_t per_gpu = node.gpu_mem / count;
    node.source = InventorySource::legacy;
    node.unit = per_gpu > kLargestGpuInGib ? MemoryUnit::mib : MemoryUnit::gib;
    for (int i = 0; i < count; ++i) {
        Gpu gpu;
        gpu.uuid = uuid_of_index(i);
        gpu.index = gpu.minor = i;
        gpu.memory = {std::min(per_gpu, kMaxFormerUnits) * bytes_per_unit(node.unit).count};
        node.gpus.push_back(std::move(gpu));
    }
}

constexpr std::array kWritten = {key::kAliyunIndex,      key::kAliyunDev,
                                 key::kAliyunPod,        key::kAliyunAssigned,
                                 key::kAliyunAssumeTime, key::kGpushareAllocation};

}  // namespace

constinit const Dialect kGpushareDialect = {
    .name = "gpushare",
    .summary = "aliyun.com/gpu-mem as gpushare reads it",
    .resources = kResources,
    .annotations = {},
    .hints = kHints,
    .read = read,
    .device_lists = kLists,
    .add_amounts = add_amounts,
    .counted_memory = &kCountedMemory,
    .annotate = annotate,
    .written_annotations = kWritten,
    .add_env = add_env,
    .former_allocation = former_allocation,
    .read_former_node = read_former_node,
    .former_variable = key::kAliyunIndex,
};

}  // namespace tessera

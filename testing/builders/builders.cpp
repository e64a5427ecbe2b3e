#include "testing/builders/builders.hpp"

#include "base/check.hpp"

namespace tessera::build {
namespace {

std::string text(std::string_view resource) {
    return std::string(resource);
}

}  // namespace

Gpu gpu(std::string_view node, int index, Bytes memory) {
    Gpu out;
    out.uuid = GpuUuid("GPU-" + std::string(node) + "-" + std::to_string(index));
    out.index = out.minor = index;
    out.model = "Simulated T4";
    out.memory = memory;
    return out;
}

NodeInventory node(std::string_view name, int count, Bytes each) {
    NodeInventory out;
    out.name = NodeName(std::string(name));
    for (int i = 0; i < count; ++i)
        out.gpus.push_back(gpu(name, i, each));
    return out;
}

NodeInfo node_info(std::span<const GpuState> gpus, MemoryUnit unit) {
    NodeInfo node;
    node.inventory.unit = unit;
    node.gpus.assign(gpus.begin(), gpus.end());
    node.free = free_of(gpus);
    return node;
}

NodeInventory legacy_node(std::string_view name, int count, std::int64_t units_each) {
    NodeInventory out = node(name, count, gibibytes(units_each));
    out.source = InventorySource::legacy;
    out.gpu_mem = count * units_each;
    for (Gpu& gpu : out.gpus) {
        gpu.uuid = GpuUuid("index:" + std::to_string(gpu.index));
        gpu.model.clear();
    }
    return out;
}

ContainerSpec container(std::string_view name, Limits limits, ContainerKind kind) {
    return {std::string(name), kind, std::move(limits)};
}

std::vector<ContainerSpec> aliyun(std::int64_t units) {
    return {container("main", {{text(resource::kAliyunMem), std::to_string(units)}})};
}

std::vector<ContainerSpec> native(Bytes memory, int gpus) {
    return {container("main", {{text(resource::kGpuShare), std::to_string(gpus)},
                               {text(resource::kGpuMemory), std::to_string(memory.count)}})};
}

std::vector<ContainerSpec> whole(int gpus) {
    return {container("main", {{text(resource::kGpu), std::to_string(gpus)}})};
}

ContainerRequests request(const std::vector<ContainerSpec>& containers) {
    auto parsed = parse_container_requests({.containers = containers});
    TESSERA_CHECK(parsed.has_value(), "a builder was given a request that is not valid");
    return *std::move(parsed);
}

void set_containers(PodInfo& pod, std::vector<ContainerSpec> containers,
                    std::optional<std::string> cores_limit) {
    pod.request =
        parse_container_requests({.containers = containers, .cores_limit = std::move(cores_limit)});
    pod.containers = std::move(containers);
}

PodInfo pod(std::string_view name, std::vector<ContainerSpec> containers) {
    PodInfo out;
    out.uid = PodUid("uid-" + std::string(name));
    out.name = {"default", std::string(name)};
    set_containers(out, std::move(containers));
    return out;
}

PodRequest request(const PodInfo& pod) {
    return request_of(pod).value();
}

PodInfo bound(PodInfo pod, const Allocation& allocation) {
    pod.node = allocation.node;
    pod.allocation = allocation;
    return pod;
}

PodInfo legacy_bound(PodInfo pod, std::string_view node, int index, std::int64_t units) {
    pod.node = NodeName(std::string(node));
    pod.legacy = LegacyAllocation{&kGpushareDialect, {{index, units}}};
    return pod;
}

Allocation allocation(const PodInfo& pod, std::string_view node, std::vector<GpuShare> shares) {
    return {pod.uid,
            NodeName(std::string(node)),
            &kNativeDialect,
            {{"main", ContainerKind::app, std::move(shares)}}};
}

}  // namespace tessera::build

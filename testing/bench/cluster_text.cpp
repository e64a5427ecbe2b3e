#include "testing/bench/cluster_text.hpp"

#include <fmt/format.h>

#include <random>

#include "base/quantity.hpp"
#include "domain/dialect/gpushare.hpp"
#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_gpus_json.hpp"
#include "wire/text/json.hpp"

namespace tessera::bench {
namespace {

constexpr std::int64_t kGpuGib = 80;

// A list of images, which makes a Node object as large as a real one. The controller ignores it.
std::string ballast() {
    std::string out = "[";
    for (int i = 0; i < 50; ++i) {
        out += fmt::format(
            "{}{{\"names\":[\"registry.example/team/application-{:03}@sha256:{:064x}\","
            "\"registry.example/team/application-{:03}:v1.{}\"],\"sizeBytes\":{}}}",
            i == 0 ? "" : ",", i, i * 7919, i, i, 10'000'000 + i);
    }
    return out + "]";
}

std::string node_text(const std::string& name, int number, int count) {
    NodeGpusReport gpus{MemoryUnit::gib, "nri", {}};
    for (int i = 0; i < count; ++i)
        gpus.gpus.push_back(gpu_of(number, i));
    static const std::string kBallast = ballast();
    return fmt::format(
        R"({{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{}","uid":"node-{}","resourceVersion":"1",)"
        R"("labels":{{"tessera.dev/agent":"true","kubernetes.io/hostname":"{}"}},"annotations":{{"{}":{}}}}},"spec":{{}},)"
        R"("status":{{"capacity":{{"cpu":"64","memory":"512Gi","aliyun.com/gpu-mem":"{}"}},"allocatable":{{"cpu":"64","memory":"512Gi"}},)"
        R"("addresses":[{{"type":"InternalIP","address":"10.0.0.1"}}],"images":{}}}}})",
        name, number, name, key::kGpus, json_string(write_node_gpus(gpus)), count * kGpuGib,
        kBallast);
}

std::string running_pod(int number, const std::string& node, const Gpu& gpu, std::int64_t gib) {
    const std::string uid = fmt::format("{:08x}-1111-4111-8111-111111111111", number);
    const Allocation allocation{
        PodUid(uid),
        NodeName(node),
        &kGpushareDialect,
        {{"main", ContainerKind::app, {{gpu.uuid, gpu.index, gibibytes(gib), {}, false}}}}};
    return fmt::format(
        R"({{"metadata":{{"name":"pod-{}","namespace":"team-{}","uid":"{}","resourceVersion":"1",)"
        R"("annotations":{{"{}":{}}}}},"spec":{{"nodeName":"{}","containers":[{{"name":"main",)"
        R"("image":"registry.example/app","resources":{{"limits":{{"aliyun.com/gpu-mem":"{}"}},"requests":{{"cpu":"{}m"}}}}}}]}},)"
        R"("status":{{"phase":"Running"}}}})",
        number, number % 100, uid, key::kAllocation, json_string(write_allocation(allocation)),
        node, gib, 500 * (1 + number % 4));
}

}  // namespace

Gpu gpu_of(int node, int index) {
    Gpu gpu;
    gpu.uuid = GpuUuid(fmt::format("GPU-{:08x}-0000-4000-8000-{:012x}", node, index));
    gpu.index = gpu.minor = index;
    gpu.model = "NVIDIA A100-SXM4-80GB";
    gpu.memory = gibibytes(kGpuGib);
    return gpu;
}

ClusterText make_cluster(const ClusterShape& shape) {
    ClusterText text;
    std::mt19937 random(shape.seed);
    std::vector<std::int64_t> free_gib(
        static_cast<std::size_t>(shape.nodes) * static_cast<std::size_t>(shape.gpus_per_node),
        kGpuGib);
    for (int n = 0; n < shape.nodes; ++n) {
        text.names.push_back(fmt::format("gpu-node-{:05}", n));
        text.nodes.push_back(node_text(text.names.back(), n, shape.gpus_per_node));
    }
    for (int p = 0; p < shape.pods; ++p) {
        const std::size_t slot = random() % free_gib.size();
        const std::int64_t gib = 1 + random() % 16;
        if (free_gib[slot] < gib) continue;
        free_gib[slot] -= gib;
        const int node = static_cast<int>(slot) / shape.gpus_per_node;
        const Gpu gpu = gpu_of(node, static_cast<int>(slot) % shape.gpus_per_node);
        text.pods.push_back(running_pod(p, text.names[static_cast<std::size_t>(node)], gpu, gib));
    }
    return text;
}

std::string pending_pod(const std::string& name, const std::string& uid, int gib) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"default","uid":"{}","resourceVersion":"1"}},)"
        R"("spec":{{"containers":[{{"name":"main","image":"registry.example/app",)"
        R"("resources":{{"limits":{{"aliyun.com/gpu-mem":"{}"}}}}}}]}},"status":{{"phase":"Pending"}}}})",
        name, uid, gib);
}

std::string list_page(const char* kind, const std::vector<std::string>& items, std::size_t first,
                      std::size_t count) {
    const std::size_t last = std::min(first + count, items.size());
    std::string out =
        fmt::format(R"({{"kind":"{}","apiVersion":"v1","metadata":{{"resourceVersion":"1")", kind);
    if (last < items.size()) out += fmt::format(R"(,"continue":"{}")", last);
    out += R"(},"items":[)";
    for (std::size_t i = first; i < last; ++i) {
        if (i > first) out += ',';
        out += items[i];
    }
    return out + "]}";
}

}  // namespace tessera::bench

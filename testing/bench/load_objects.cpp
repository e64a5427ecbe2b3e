#include "testing/bench/load_objects.hpp"

#include <fmt/format.h>

#include <array>
#include <random>

#include "domain/dialect/gpushare.hpp"
#include "testing/bench/cluster_text.hpp"
#include "wire/kube/binding_annotations.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/node_gpus_json.hpp"
#include "wire/text/json.hpp"

namespace tessera::bench {
namespace {

constexpr int kGpus = 8;
constexpr std::int64_t kGpuGib = 80;
constexpr std::int64_t kShareGib = 3;
constexpr std::int64_t kSlotsPerGpu = 64;

NodeInventory inventory(int number) {
    NodeInventory node;
    node.name = NodeName(node_name(number));
    for (int i = 0; i < kGpus; ++i)
        node.gpus.push_back(gpu_of(number, i));
    node.gpu_mem = kGpus * kGpuGib;
    return node;
}

std::string limits(Asks asks) {
    constexpr std::array<std::string_view, 4> kResource = {
        "", "example.com/gpu-mem", "aliyun.com/gpu-mem", "aliyun.com/gpu-mem"};
    if (asks == Asks::nothing) return "{}";
    return fmt::format(R"({{"{}":"{}"}})", kResource.at(static_cast<std::size_t>(asks)), kShareGib);
}

// `choice`: members of the spec that choose the node or the scheduler, each with a comma behind it.
std::string pod_object(const std::string& name, const std::string& group, const std::string& choice,
                       const std::string& limits) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{{"bench":"{}"}}}},)"
        R"("spec":{{{}"terminationGracePeriodSeconds":0,"containers":[{{"name":"main",)"
        R"("image":"registry.example/app","resources":{{"requests":{{"cpu":"1","memory":"8Gi"}},)"
        R"("limits":{}}}}}]}}}})",
        name, group, choice, limits);
}

}  // namespace

std::optional<Asks> asks_of(std::string_view name) {
    if (name == "plain") return Asks::nothing;
    if (name == "extended") return Asks::extended;
    if (name == "ours") return Asks::ours;
    if (name == "own") return Asks::own;
    return std::nullopt;
}

std::string node_name(int number) {
    return fmt::format("gpu-node-{:05}", number);
}

std::string node_object(int number) {
    const NodeInventory node = inventory(number);
    const std::string name = node.name.str();
    const std::string amounts = fmt::format(
        R"({{"cpu":"128","memory":"1Ti","pods":"500","example.com/gpu-mem":"{0}",)"
        R"("aliyun.com/gpu-mem":"{0}","aliyun.com/gpu-count":"{1}","tessera.dev/gpu-share":"{2}",)"
        R"("tessera.dev/gpu-memory":"{3}","tessera.dev/gpu-cores":"{4}"}})",
        node.gpu_mem, kGpus, kGpus * kSlotsPerGpu, gibibytes(node.gpu_mem).count, kGpus * 100);
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}",)"
        R"("labels":{{"gpushare":"true","kubernetes.io/hostname":"{0}"}},)"
        R"("annotations":{{"{1}":{2}}}}},"spec":{{}},"status":{{"capacity":{3},"allocatable":{3},)"
        R"("conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady"}}],)"
        R"("addresses":[{{"type":"InternalIP","address":"10.0.0.1"}}]}}}})",
        name, key::kGpus, json_string(write_node_gpus({node.unit, "nri", {}, node.gpus})), amounts);
}

std::string waiting_pod(const std::string& group, int number, Asks asks) {
    return pod_object(fmt::format("{}-{:05}", group, number), group,
                      asks == Asks::own ? R"("schedulerName":"tessera-scheduler",)" : "",
                      limits(asks));
}

std::vector<Placed> placed_pods(int nodes, int pods) {
    std::mt19937 random(1);
    std::vector<std::int64_t> free_gib(static_cast<std::size_t>(nodes) * kGpus, kGpuGib);
    std::vector<Placed> out;
    while (out.size() < static_cast<std::size_t>(pods)) {
        const std::size_t slot = random() % free_gib.size();
        const std::int64_t gib = 1 + random() % 16;
        if (free_gib[slot] < gib) continue;
        free_gib[slot] -= gib;
        out.push_back({fmt::format("placed-{:05}", out.size()), static_cast<int>(slot) / kGpus,
                       static_cast<int>(slot) % kGpus, gib});
    }
    return out;
}

std::string placed_pod(const Placed& pod) {
    const std::string limits =
        fmt::format(R"({{"example.com/gpu-mem":"{0}","aliyun.com/gpu-mem":"{0}"}})", pod.gib);
    return pod_object(pod.name, "placed", fmt::format(R"("nodeName":"{}",)", node_name(pod.node)),
                      limits);
}

std::string running_patch(const Placed& pod, const std::string& uid, const AllocationSeal* seal) {
    const NodeInventory node = inventory(pod.node);
    const Gpu& gpu = node.gpus.at(static_cast<std::size_t>(pod.gpu));
    const Allocation allocation{
        PodUid(uid),
        node.name,
        &kGpushareDialect,
        {{"main", ContainerKind::app, {{gpu.uuid, gpu.index, gibibytes(pod.gib), {}, false}}}}};
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            w.object("annotations", [&] {
                for (const auto& [key, value] : binding_annotations(allocation, node, 1, seal))
                    w.member(key, value);
            });
        });
        w.object("status", [&] { w.member("phase", "Running"); });
    });
    return w.take();
}

}  // namespace tessera::bench

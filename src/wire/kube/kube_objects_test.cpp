#include "wire/kube/kube_objects.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"
#include "wire/kube/node_rules_json.hpp"
#include "wire/tessera/allocation_json.hpp"
#include "wire/tessera/keys.hpp"
#include "wire/tessera/resize_json.hpp"

namespace tessera {
namespace {

PodInfo pod_of(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return read_pod(document->root());
}
NodeInventory node_of(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return read_node(document->root());
}

// Goal: the GPU-related parts of a pod are read: init containers first, with their kinds; other
// containers and resources are left out; limits count, requests do not.
TEST(ReadPod, Parts) {
    const PodInfo pod = pod_of(R"({
      "metadata":{"name":"p","namespace":"team-a","uid":"u-1","deletionTimestamp":"2026-01-01T00:00:00Z"},
      "spec":{"nodeName":"n1",
        "initContainers":[
          {"name":"prepare","resources":{"limits":{"aliyun.com/gpu-mem":"2"}}},
          {"name":"proxy","restartPolicy":"Always","resources":{"limits":{"aliyun.com/gpu-mem":3}}}],
        "containers":[
          {"name":"web","resources":{"limits":{"cpu":"1"}}},
          {"name":"plain"},
          {"name":"requests","resources":{"requests":{"aliyun.com/gpu-mem":"9"}}},
          {"name":"main","resources":{"limits":{"aliyun.com/gpu-mem":"4","cpu":"2","nvidia.com/gpu":"1"}}}]},
      "status":{"phase":"Running","nominatedNodeName":"n2"}})");
    EXPECT_EQ(pod.uid, PodUid("u-1"));
    EXPECT_EQ(pod.name, (PodName{"team-a", "p"}));
    EXPECT_EQ(pod.node, NodeName("n1"));
    EXPECT_EQ(pod.nominated, NodeName("n2"));
    EXPECT_TRUE(pod.terminating);
    EXPECT_FALSE(pod.gated);
    EXPECT_FALSE(pod.finished);
    EXPECT_FALSE(pod.allocation);
    EXPECT_FALSE(pod.legacy);
    ASSERT_EQ(pod.containers.size(), 3U);
    EXPECT_EQ(pod.containers[0],
              (ContainerSpec{"prepare", ContainerKind::init, {{"aliyun.com/gpu-mem", "2"}}}));
    EXPECT_EQ(pod.containers[1],
              (ContainerSpec{"proxy", ContainerKind::sidecar, {{"aliyun.com/gpu-mem", "3"}}}));
    EXPECT_EQ(pod.containers[2],
              (ContainerSpec{"main", ContainerKind::app, {{"aliyun.com/gpu-mem", "4"}}}));
}

// Goal: unknown tessera.dev annotations of a pod that requests GPUs are reported; other annotations
// are ignored.
TEST(ReadPod, UnknownAnnotations) {
    const auto unknown_annotations = [](const std::string& limit) {
        return pod_of(R"({"metadata":{"name":"p","annotations":{"tessera.dev/gpu-model":"A100"}},
            "spec":{"containers":[{"name":"main","resources":{"limits":{")" +
                      limit + R"(":"1"}}}]}})")
            .unknown_annotations;
    };
    EXPECT_EQ(unknown_annotations("tessera.dev/gpu"),
              (std::vector<std::string>{"annotation tessera.dev/gpu-model is not known: did you "
                                        "mean tessera.dev/gpu-models?"}));
    EXPECT_TRUE(unknown_annotations("cpu").empty());
}

// Goal: a gang is read from our annotations or from the labels of the coscheduling plug-in; the
// error for an invalid size says what to write.
TEST(ReadPod, Gang) {
    const auto gang = [](const std::string& metadata) {
        return pod_of(R"({"metadata":{)" + metadata + R"(},"spec":{"containers":[
            {"name":"main","resources":{"limits":{"tessera.dev/gpu":"1"}}}]}})")
            .gang;
    };
    const std::string ours =
        R"("annotations":{"tessera.dev/gang":"a","tessera.dev/gang-size":"8"})";
    const std::string labels =
        R"("labels":{"pod-group.scheduling.sigs.k8s.io/name":"b",
                     "pod-group.scheduling.sigs.k8s.io/min-available":"3"})";
    EXPECT_EQ(**gang(ours), (GangMembership{"a", 8}));
    EXPECT_EQ(**gang(labels), (GangMembership{"b", 3}));
    EXPECT_EQ(**gang(ours + "," + labels), (GangMembership{"a", 8}));
    EXPECT_FALSE(gang(""));
    for (const char* size : {"0", "-1", "many", "", "1001", "1.5"}) {
        const auto wrong = gang(fmt::format(
            R"("annotations":{{"tessera.dev/gang":"a","tessera.dev/gang-size":"{}"}})", size));
        ASSERT_TRUE(wrong && !*wrong) << size;
        EXPECT_EQ(wrong->error().text,
                  fmt::format("tessera.dev/gang-size is \"{}\"; write the number of pods of gang a "
                              "that are to be placed together, 1 to 1000",
                              size));
    }
    for (const char* unknown_annotation :
         {R"("annotations":{"tessera.dev/gang-size":"2"})",
          R"("annotations":{"tessera.dev/gang":"","tessera.dev/gang-size":"2"})",
          R"("annotations":{"tessera.dev/gang":"a%s","tessera.dev/gang-size":"2"})",
          R"("labels":{"pod-group.scheduling.sigs.k8s.io/min-available":"3"})"}) {
        const auto wrong = gang(unknown_annotation);
        ASSERT_TRUE(wrong && !*wrong) << unknown_annotation;
        EXPECT_NE(wrong->error().text.find("is not the name of a gang"), std::string::npos)
            << wrong->error().text;
    }
}

// Goal: without our annotations, Kubernetes' own pod group counts; its PodGroup has the size.
TEST(ReadPod, SchedulingGroup) {
    const auto gang = [](const std::string& metadata) {
        return pod_of(R"({"metadata":{)" + metadata +
                      R"(},"spec":{"schedulingGroup":{"podGroupName":"g"},"containers":[
            {"name":"main","resources":{"limits":{"tessera.dev/gpu":"1"}}}]}})")
            .gang;
    };
    EXPECT_EQ(**gang(""), (GangMembership{"g", 0}));
    EXPECT_EQ(**gang(R"("annotations":{"tessera.dev/gang":"a","tessera.dev/gang-size":"8"})"),
              (GangMembership{"a", 8}));
}

// Goal: for pods that request GPUs, the resize annotations are read: an open request, valid or not,
// but no request that was refused; and the compute limit, in the request.
TEST(ReadPod, ResizeAndCoresLimit) {
    const auto read = [](const std::string& annotations, const char* resource) {
        const auto document = JsonDocument::parse(fmt::format(
            R"({{"metadata":{{"annotations":{{{}}}}},"spec":{{"containers":[{{"name":"main",)"
            R"("resources":{{"limits":{{"{}":"1"}}}}}}]}}}})",
            annotations, resource));
        EXPECT_TRUE(document) << annotations;
        return read_pod(document->root());
    };
    const std::string requested = R"({"version":1,"containers":[{"name":"main","cores":5}]})";
    const std::string annotation = R"("tessera.dev/resize-request":)" + json_string(requested);
    const auto refused_as = [&](const std::string& of) {
        return annotation + R"(,"tessera.dev/resize-refused":)" +
               json_string(write_resize_refusal(of, {Code::unavailable, "no room"}));
    };
    const PodInfo open = read(annotation, "tessera.dev/gpu");
    ASSERT_TRUE(open.resize && *open.resize);
    EXPECT_EQ((*open.resize)->containers.at(0).cores, Percent{5});
    EXPECT_FALSE(open.is_guarded);
    EXPECT_TRUE(open.request);
    EXPECT_TRUE(read(refused_as("an older request"), "tessera.dev/gpu").resize);
    EXPECT_FALSE(read(refused_as(requested), "tessera.dev/gpu").resize);
    const PodInfo wrong = read(R"("tessera.dev/resize-request":"nonsense")", "tessera.dev/gpu");
    ASSERT_TRUE(wrong.resize);
    EXPECT_FALSE(*wrong.resize);
    EXPECT_FALSE(read(annotation, "cpu").resize);
    for (const char* how : {"guard", "memory=driver,compute=guard", "memory=guard,compute=mps"}) {
        EXPECT_TRUE(read(fmt::format(R"("tessera.dev/enforced-by":"{}")", how), "tessera.dev/gpu")
                        .is_guarded)
            << how;
    }
    EXPECT_FALSE(read(R"("tessera.dev/enforced-by":"none")", "tessera.dev/gpu").is_guarded);
    const PodInfo limited = read(R"("tessera.dev/gpu-cores-limit":"x")", "tessera.dev/gpu");
    ASSERT_FALSE(limited.request);
    EXPECT_TRUE(limited.request.error().text.starts_with("annotation tessera.dev/gpu-cores-limit"));
}

// Goal: a requirement is not a preference; a preferred rule is. Method: a table of specs.
TEST(HasPreferences, OfWhereToRun) {
    const auto affinity = [](std::string_view kind, std::string_view rules) {
        return fmt::format(
            R"({{"affinity":{{"{}":{{"{}DuringSchedulingIgnoredDuringExecution":[{}]}}}}}})", kind,
            rules.empty() ? "required" : "preferred", rules);
    };
    const auto spread = [](std::string_view otherwise) {
        return fmt::format(R"({{"topologySpreadConstraints":[{{"whenUnsatisfiable":"{}"}}]}})",
                           otherwise);
    };
    const std::vector<std::pair<std::string, bool>> cases = {
        {"{}", false},
        {"null", false},
        {affinity("nodeAffinity", ""), false},
        {affinity("nodeAffinity", "{}"), true},
        {affinity("podAffinity", "{}"), true},
        {affinity("podAntiAffinity", "{}"), true},
        {spread("DoNotSchedule"), false},
        {spread("ScheduleAnyway"), true},
    };
    for (const auto& [spec, expected] : cases) {
        const auto document = JsonDocument::parse(R"({"spec":)" + spec + "}");
        ASSERT_TRUE(document) << spec;
        EXPECT_EQ(has_preferences(document->root()), expected) << spec;
    }
}

// Goal: only Succeeded and Failed mean that a pod's containers are gone for good.
TEST(ReadPod, Phases) {
    const std::vector<std::pair<std::string, bool>> cases = {
        {"Succeeded", true}, {"Failed", true},   {"Running", false},
        {"Pending", false},  {"Unknown", false}, {"", false}};
    for (const auto& [phase, finished] : cases)
        EXPECT_EQ(pod_of(R"({"status":{"phase":")" + phase + "\"}}").finished, finished) << phase;
}

// Goal: a pod may preempt others unless its preemptionPolicy forbids it.
TEST(ReadPod, Preempts) {
    const PodInfo pod = pod_of(R"({"spec":{"priority":7}})");
    EXPECT_TRUE(pod.preempts);
    EXPECT_EQ(pod.priority, 7);
    EXPECT_TRUE(pod_of(R"({"spec":{"preemptionPolicy":"PreemptLowerPriority"}})").preempts);
    EXPECT_FALSE(pod_of(R"({"spec":{"preemptionPolicy":"Never"}})").preempts);
}

// Goal: a pod is gated while it has a scheduling gate.
TEST(ReadPod, Gated) {
    EXPECT_TRUE(pod_of(R"({"spec":{"schedulingGates":[{"name":"example.com/quota"}]}})").gated);
    EXPECT_FALSE(pod_of(R"({"spec":{"schedulingGates":[]}})").gated);
    EXPECT_FALSE(pod_of(R"({"spec":{"schedulingGates":null}})").gated);
}

// Goal: a pod has started when the runtime has created one of its GPU containers, whatever happened
// to it later; its other containers do not count. Method: a table of container statuses.
TEST(ReadPod, Started) {
    const auto started = [](std::string_view statuses) {
        return pod_of(fmt::format(
                          R"({{"spec":{{"containers":[{{"name":"main","resources":{{"limits":)"
                          R"({{"aliyun.com/gpu-mem":1}}}}}},{{"name":"web"}}]}},"status":{{{}}}}})",
                          statuses))
            .started;
    };
    EXPECT_FALSE(started(""));
    EXPECT_FALSE(started(R"("containerStatuses":[{"name":"main"}])"));
    EXPECT_FALSE(started(R"("containerStatuses":[{"name":"main","containerID":""}])"));
    EXPECT_FALSE(started(R"("containerStatuses":[{"name":"web","containerID":"x"},7,null])"));
    EXPECT_TRUE(started(R"("containerStatuses":[{"name":"main","containerID":"containerd://1"}])"));
    EXPECT_TRUE(started(R"("initContainerStatuses":[{"name":"main","containerID":"x"}])"));
}

// Goal: a container that kubelet gave no device has no GPU, so a pod that another scheduler bound
// without a number of shares has not started with one.
TEST(ReadPod, StartedWithoutADevice) {
    const auto started = [](std::string_view limits) {
        return pod_of(
                   fmt::format(R"({{"spec":{{"containers":[{{"name":"main","resources":{{"limits":)"
                               R"({{{}}}}}}}]}},"status":{{"containerStatuses":[{{"name":"main",)"
                               R"("containerID":"x"}}]}}}})",
                               limits))
            .started;
    };
    EXPECT_FALSE(started(R"("tessera.dev/gpu-memory":"1Gi","tessera.dev/gpu-cores":"25")"));
    EXPECT_FALSE(started(R"("tessera.dev/gpu-memory":"1Gi","tessera.dev/gpu-share":"0")"));
    EXPECT_TRUE(started(R"("tessera.dev/gpu-memory":"1Gi","tessera.dev/gpu-share":"1")"));
    EXPECT_TRUE(started(R"("tessera.dev/gpu":"1")"));
    EXPECT_TRUE(started(R"("aliyun.com/gpu-mem":"1")"));
}

// Goal: with a seal, a pod's allocation counts only if it is signed.
TEST(ReadPod, SealedAllocation) {
    const auto seal = AllocationSeal::from_keys(std::string(64, 'a'));
    const std::string allocation =
        R"({"version":1,"pod":"u","node":"n","dialect":"native","containers":[{"name":"main",)"
        R"("gpus":[{"uuid":"GPU-0","index":0,"memory":1,"cores":0}]}]})";
    const auto read = [&](const std::string& mac) {
        JsonWriter w;
        w.object([&] {
            w.object("metadata", [&] {
                w.object("annotations", [&] {
                    w.member(key::kAllocation, allocation);
                    if (!mac.empty()) w.member(key::kAllocationMac, mac);
                });
            });
        });
        return read_pod(JsonDocument::parse(w.take())->root(), &*seal).allocation.value();
    };
    EXPECT_TRUE(read(seal->sign(allocation)));
    for (const char* mac : {"", "0"}) {
        ASSERT_FALSE(read(mac));
        EXPECT_EQ(read(mac).error().code, Code::permission_denied);
    }
}

// Goal: no missing field and no field of another type makes reading fail.
TEST(ReadPod, OddObjects) {
    for (const char* text :
         {"{}", "null", "[]", "7", R"({"metadata":null,"spec":null,"status":null})",
          R"({"metadata":[],"spec":7,"status":"x"})",
          R"({"spec":{"containers":null,"initContainers":{}}})",
          R"({"spec":{"containers":[null,7,[],{"name":7,"resources":{"limits":[]}}]}})"}) {
        const PodInfo pod = pod_of(text);
        EXPECT_TRUE(pod.uid.empty());
        EXPECT_EQ(pod.name.ns, "default");
        EXPECT_TRUE(pod.containers.empty());
    }
    // A limit that is not a quantity is kept, so that the request is refused and not ignored.
    const PodInfo odd = pod_of(
        R"({"spec":{"containers":[{"name":"a","resources":{"limits":{"aliyun.com/gpu-mem":1.5}}}]}})");
    ASSERT_EQ(odd.containers.size(), 1U);
    EXPECT_FALSE(odd.request);
}

// Goal: our allocation is read; an unreadable one is an error, never treated as none.
TEST(ReadPod, Allocation) {
    const Allocation allocation{PodUid("u"),
                                NodeName("n"),
                                &kNativeDialect,
                                {{"c", {}, {{GpuUuid("g"), 0, {5}, {0}, false}}}}};
    const auto annotated = [](const std::string& value) {
        JsonWriter w;
        w.object([&] {
            w.object("metadata", [&] {
                w.member("uid", "u");
                w.object("annotations", [&] { w.member(key::kAllocation, value); });
            });
        });
        return pod_of(w.take());
    };
    const PodInfo good = annotated(write_allocation(allocation));
    ASSERT_TRUE(good.allocation && good.allocation->has_value());
    EXPECT_EQ(**good.allocation, allocation);
    const PodInfo broken = annotated("{");
    ASSERT_TRUE(broken.allocation);
    EXPECT_EQ(broken.allocation->error().code, Code::invalid_argument);
    const PodInfo newer = annotated(R"({"version":2})");
    ASSERT_TRUE(newer.allocation);
    EXPECT_EQ(newer.allocation->error().code, Code::unsupported);
    EXPECT_EQ(annotated(R"({"version":9,"pod":"u"})").allocation->error().code, Code::unsupported);
    const PodInfo copy = annotated(R"({"version":9,"pod":"another"})");
    EXPECT_EQ(copy.allocation->error().code, Code::conflict) << "a copy of a pod holds nothing";
}

// Goal: gpushare's annotations are read in every state in which its programs leave them. Method: a
// table of annotations and the shares that they mean; the JSON of several GPUs wins over the single
// index.
TEST(ReadPod, LegacyAnnotations) {
    using Shares = std::vector<LegacyAllocation::Share>;
    struct Case {
        std::string annotations;
        Shares shares;
    };
    const std::string json_key(key::kGpushareAllocation);
    const std::vector<Case> cases = {
        {R"("ALIYUN_COM_GPU_MEM_IDX":"1","ALIYUN_COM_GPU_MEM_POD":"6")", {{1, 6}}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"1")", {}},
        {R"("ALIYUN_COM_GPU_MEM_POD":"6")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"one","ALIYUN_COM_GPU_MEM_POD":"6")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"","ALIYUN_COM_GPU_MEM_POD":"6")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":" 1","ALIYUN_COM_GPU_MEM_POD":"6")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"-1","ALIYUN_COM_GPU_MEM_POD":"6")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"1","ALIYUN_COM_GPU_MEM_POD":"-6")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"1","ALIYUN_COM_GPU_MEM_POD":"0")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"99999999999999999999","ALIYUN_COM_GPU_MEM_POD":"6")", {}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":"1","ALIYUN_COM_GPU_MEM_POD":"99999999999")", {{1, 1 << 20}}},
        {R"("ALIYUN_COM_GPU_MEM_IDX":1,"ALIYUN_COM_GPU_MEM_POD":6)", {}},
        {"\"" + json_key + R"(":"{\"0\":{\"0\":4,\"1\":4},\"1\":{\"1\":2}}")", {{0, 4}, {1, 6}}},
        {"\"" + json_key + R"(":"{\"0\":{\"0\":1048576,\"0\":1048576}}")", {{0, 1 << 20}}},
        {"\"" + json_key + R"(":"{\"0\":{\"0\":4}}","ALIYUN_COM_GPU_MEM_IDX":"3",)" +
             R"("ALIYUN_COM_GPU_MEM_POD":"6")",
         {{0, 4}}},
        {"\"" + json_key + R"(":"rubbish","ALIYUN_COM_GPU_MEM_IDX":"3",)" +
             R"("ALIYUN_COM_GPU_MEM_POD":"6")",
         {{3, 6}}},
        {"\"" + json_key + R"(":"{}","ALIYUN_COM_GPU_MEM_IDX":"3","ALIYUN_COM_GPU_MEM_POD":"6")",
         {{3, 6}}},
        {"\"" + json_key + R"(":"{\"0\":{\"x\":4,\"1\":\"4\",\"2\":-1}}")", {}},
    };
    for (const Case& c : cases) {
        const std::string head = R"({"metadata":{"annotations":{)" + c.annotations + "}},";
        const PodInfo pod = pod_of(
            head +
            R"("spec":{"containers":[{"name":"a","resources":{"limits":{"aliyun.com/gpu-mem":"6"}}}]}})");
        EXPECT_EQ(pod.legacy ? pod.legacy->shares : Shares{}, c.shares) << c.annotations;
        EXPECT_EQ(pod.legacy.has_value(), !c.shares.empty());
        EXPECT_FALSE(pod_of(head + R"("spec":{}})").legacy) << "asks for nothing";
    }
}

// Goal: Alibaba Cloud's label gives the number of GPUs for containers that request gpu-mem without
// a number of their own. Invalid text is kept, so that the request's parser refuses it.
TEST(ReadPod, NumberOfGpusAsALabel) {
    struct Case {
        std::string label;
        std::string limits;
        int gpus;             // 0: refused
        std::int64_t memory;  // of each GPU, in node units
    };
    const std::vector<Case> cases = {
        {R"("2")", R"("aliyun.com/gpu-mem":"6")", 2, 3},
        {R"("2")", R"("aliyun.com/gpu-mem":"6","aliyun.com/gpu-count":"3")", 3, 2},
        {R"("two")", R"("aliyun.com/gpu-mem":"6")", 0, 0},
        {R"("")", R"("aliyun.com/gpu-mem":"6")", 0, 0},
        {"2", R"("aliyun.com/gpu-mem":"6")", 1, 6},
        {R"("2")", R"("tessera.dev/gpu":"1")", 1, 0},
    };
    for (const Case& c : cases) {
        const PodInfo pod =
            pod_of(R"({"metadata":{"name":"p","labels":{"aliyun.com/gpu-count":)" + c.label +
                   R"(}},"spec":{"containers":[{"name":"a","resources":{"limits":{)" + c.limits +
                   R"(}}},{"name":"b"}]}})");
        ASSERT_EQ(pod.containers.size(), 1U) << c.label << c.limits;
        if (c.gpus == 0) {
            ASSERT_FALSE(pod.request);
            EXPECT_TRUE(
                pod.request.error().text.ends_with("(in the limits, or in the pod's label)"))
                << pod.request.error().text;
            continue;
        }
        ASSERT_TRUE(pod.request) << c.label << c.limits << pod.request.error().text;
        EXPECT_EQ(pod.request->front().gpu.gpus, c.gpus) << c.label << c.limits;
        EXPECT_EQ(pod.request->front().gpu.memory.amount, c.memory) << c.label << c.limits;
    }
}

constexpr std::string_view kAddresses =
    R"("addresses":[{"type":"Hostname","address":"h"},{"type":"InternalIP","address":"10.0.0.1"},)"
    R"({"type":"InternalIP","address":"fd00::1"}])";

// Goal: an agent's report wins over the sums in the node's status.
TEST(ReadNode, FromTheAgent) {
    const NodeInventory node = node_of(
        R"({"metadata":{"name":"n1","annotations":{"tessera.dev/gpus":)"
        R"("{\"version\":1,\"unit\":\"MiB\",\"gpus\":[{\"uuid\":\"g\",\"index\":0,\"memory\":5}]}"}},)"
        R"("status":{"capacity":{"aliyun.com/gpu-mem":"32","aliyun.com/gpu-count":"2"},)" +
        std::string(kAddresses) + "}}");
    EXPECT_EQ(node.name, NodeName("n1"));
    EXPECT_EQ(node.address, "10.0.0.1");
    EXPECT_EQ(node.source, InventorySource::agent);
    EXPECT_EQ(node.unit, MemoryUnit::mib);
    EXPECT_EQ(node.gpu_mem, 32);
    ASSERT_EQ(node.gpus.size(), 1U);
    EXPECT_EQ(node.gpus[0].uuid, GpuUuid("g"));
    EXPECT_EQ(node.fault, "");
}

// Goal: an unreadable report gives a node without GPUs that says why; the sums, which may be wrong,
// are never used instead.
TEST(ReadNode, BrokenReportIsAFault) {
    for (const char* value :
         {"rubbish", "{\\\"version\\\":2}", "{\\\"version\\\":1,\\\"unit\\\":\\\"x\\\"}"}) {
        const NodeInventory node = node_of(
            R"({"metadata":{"name":"n1","annotations":{"tessera.dev/gpus":")" + std::string(value) +
            R"("}},"status":{"capacity":{"aliyun.com/gpu-mem":"32","aliyun.com/gpu-count":"2"}}})");
        EXPECT_TRUE(node.gpus.empty());
        EXPECT_TRUE(node.fault.starts_with("tessera.dev/gpus: ")) << node.fault;
    }
}

// Goal: nodes of gpushare's device plugin have equal GPUs, from its sums, in the unit in which it
// counts. Method: a table of capacity and the GPUs that it means.
TEST(ReadNode, LegacySums) {
    struct Case {
        std::string mem;
        std::string count;
        std::size_t gpus;
        MemoryUnit unit;
        Bytes each;
    };
    const std::vector<Case> cases = {
        {"32", "2", 2, MemoryUnit::gib, gibibytes(16)},
        {"47", "3", 3, MemoryUnit::gib, gibibytes(15)},
        {"100", "1", 1, MemoryUnit::gib, gibibytes(100)},
        {"101", "1", 1, MemoryUnit::mib, mebibytes(101)},
        {"32552", "2", 2, MemoryUnit::mib, mebibytes(16276)},
        {"64", "0", 0, MemoryUnit::gib, {}},
        {"0", "2", 0, MemoryUnit::gib, {}},
        {"7", "8", 0, MemoryUnit::gib, {}},
        {"-5", "2", 0, MemoryUnit::gib, {}},
        {"x", "2", 0, MemoryUnit::gib, {}},
        {"64", "x", 0, MemoryUnit::gib, {}},
        {"9223372036854775807", "1", 1, MemoryUnit::mib, mebibytes(1 << 20)},
        {"6400", "1000", 64, MemoryUnit::gib, gibibytes(100)},
    };
    for (const Case& c : cases) {
        const NodeInventory node =
            node_of(R"({"metadata":{"name":"n1"},"status":{"capacity":{"aliyun.com/gpu-mem":")" +
                    c.mem + R"(","aliyun.com/gpu-count":")" + c.count + R"("}}})");
        ASSERT_EQ(node.gpus.size(), c.gpus) << c.mem << "/" << c.count;
        EXPECT_EQ(node.unit, c.unit) << c.mem << "/" << c.count;
        EXPECT_EQ(node.address, "");
        if (c.gpus == 0) continue;
        EXPECT_EQ(node.source, InventorySource::legacy);
        EXPECT_EQ(node.gpus.back().index, static_cast<int>(c.gpus) - 1);
        EXPECT_EQ(node.gpus.back().uuid, GpuUuid("index:" + std::to_string(c.gpus - 1)));
        EXPECT_EQ(node.gpus.back().capacity(), c.each);
    }
    EXPECT_TRUE(node_of(R"({"metadata":{"name":"cpu"}})").gpus.empty());
    for (const char* text : {"{}", "null", "[]", R"({"metadata":7,"status":{"addresses":{}}})"})
        EXPECT_TRUE(node_of(text).name.empty());
}

// Goal: capacity counts, not what kubelet offers now: pods may still run on an unhealthy GPU.
TEST(ReadNode, CapacityNotAllocatable) {
    const NodeInventory node =
        node_of(R"({"metadata":{"name":"n1"},"status":{)"
                R"("capacity":{"aliyun.com/gpu-mem":"32","aliyun.com/gpu-count":"2"},)"
                R"("allocatable":{"aliyun.com/gpu-mem":"16","aliyun.com/gpu-count":"1"}}})");
    EXPECT_EQ(node.gpu_mem, 32);
    ASSERT_EQ(node.gpus.size(), 2U);
    EXPECT_EQ(node.gpus[1].capacity(), gibibytes(16));
}

Result<WatchEvent> event_of(std::string_view text) {
    static std::vector<JsonDocument> documents;  // what an event points into
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    documents.push_back(*std::move(document));
    return read_watch_event(documents.back());
}

// Goal: every kind of watch event, and where the watch stands after it.
TEST(ReadWatchEvent, Kinds) {
    const std::vector<std::pair<std::string, WatchEvent::Kind>> kinds = {
        {"ADDED", WatchEvent::Kind::added},
        {"MODIFIED", WatchEvent::Kind::modified},
        {"DELETED", WatchEvent::Kind::deleted},
        {"BOOKMARK", WatchEvent::Kind::bookmark}};
    for (const auto& [type, kind] : kinds) {
        const auto event =
            event_of(R"({"type":")" + type +
                     R"(","object":{"metadata":{"name":"n","resourceVersion":"42"}}})");
        ASSERT_TRUE(event) << event.error().text;
        EXPECT_EQ(event->kind, kind);
        EXPECT_EQ(event->resource_version, "42");
        EXPECT_EQ(event->object["metadata"]["name"].text(), "n");
    }
}

// Goal: "too old" is distinguished from other failures, because only then a new list is needed.
TEST(ReadWatchEvent, Errors) {
    const auto old =
        event_of(R"({"type":"ERROR","object":{"kind":"Status","message":"too old","code":410}})");
    ASSERT_TRUE(old);
    EXPECT_EQ(old->error, (Error{Code::expired, "too old"}));
    EXPECT_EQ(old->resource_version, "");
    const auto other = event_of(R"({"type":"ERROR","object":{"code":500}})");
    ASSERT_TRUE(other);
    EXPECT_EQ(other->error, (Error{Code::unavailable, "the watch failed"}));
    for (const char* text :
         {"{}", "[]", R"({"type":"added"})", R"({"type":7})", R"({"type":null})"}) {
        const auto bad = event_of(text);
        ASSERT_FALSE(bad) << text;
        EXPECT_EQ(bad.error().code, Code::invalid_argument);
    }
}

// Goal: a page of a list has its resource version and continue token; without a resource version it
// is not a list.
TEST(ReadList, Pages) {
    const auto document = JsonDocument::parse(
        R"({"metadata":{"resourceVersion":"7","continue":"abc"},"items":[{"a":1},{"a":2}]})");
    const auto page = read_list(*document);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->items.size(), 2U);
    EXPECT_EQ(page->resource_version, "7");
    EXPECT_EQ(page->next, "abc");
    const auto last = JsonDocument::parse(R"({"metadata":{"resourceVersion":"7"},"items":null})");
    EXPECT_TRUE(read_list(*last)->items.empty());
    EXPECT_EQ(read_list(*last)->next, "");
    const auto none = JsonDocument::parse(R"({"items":[]})");
    EXPECT_FALSE(read_list(*none));
}

// Goal: the API server's reason is found in a Status, and any other body is quoted briefly.
TEST(StatusMessage, OfAnyBody) {
    EXPECT_EQ(status_message(R"({"kind":"Status","message":"pods \"a\" not found"})"),
              "pods \"a\" not found");
    EXPECT_EQ(status_message("<html>"), "<html>");
    EXPECT_EQ(status_message(""), "");
    EXPECT_EQ(status_message(std::string(1000, 'x')).size(), 200U);
    EXPECT_EQ(status_message(R"({"message":7})"), R"({"message":7})");
}

// Goal: what we write is what the API server accepts, byte for byte, with all texts escaped.
TEST(Write, Objects) {
    EXPECT_EQ(
        write_binding(PodUid("u"), {"s", "p"}, NodeName("n"), {{"a", "x\"y"}, {"b", ""}}),
        R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","namespace":"s","uid":"u",)"
        R"("annotations":{"a":"x\"y","b":""}},"target":{"apiVersion":"v1","kind":"Node","name":"n"}})");
    EXPECT_EQ(write_annotations_patch({{"a", "1"}, {"b", ""}}),
              R"({"metadata":{"annotations":{"a":"1","b":null}}})");
    EXPECT_EQ(write_annotations_patch(PodUid("u"), "7", {{"a", "1"}}),
              R"({"metadata":{"uid":"u","resourceVersion":"7","annotations":{"a":"1"}}})");
    EXPECT_EQ(write_capacity_patch({{"aliyun.com/gpu-count", "2"}}),
              R"({"status":{"capacity":{"aliyun.com/gpu-count":"2"},)"
              R"("allocatable":{"aliyun.com/gpu-count":"2"}}})");
    EXPECT_EQ(write_taint_removal({"k", "other", "k"}, "k"),
              R"([{"op":"test","path":"/spec/taints/2/key","value":"k"},)"
              R"({"op":"remove","path":"/spec/taints/2"},)"
              R"({"op":"test","path":"/spec/taints/0/key","value":"k"},)"
              R"({"op":"remove","path":"/spec/taints/0"}])");
}

}  // namespace
}  // namespace tessera

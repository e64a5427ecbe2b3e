#include "wire/kube/binding_annotations.hpp"

#include <gtest/gtest.h>

#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"
#include "domain/placement/place.hpp"
#include "testing/builders/builders.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/tessera/allocation_json.hpp"

namespace tessera {
namespace {

constexpr std::int64_t kTime = 1'795'229'693'218'179'571;

class BindingAnnotations : public ::testing::Test {
  protected:
    Allocation allocation(std::vector<ContainerAllocation> containers) const {
        return {PodUid("u"), NodeName("n1"), &kGpushareDialect, std::move(containers)};
    }
    GpuShare share(int index, int gib) const {
        return {node_.gpus[static_cast<std::size_t>(index)].uuid, index, gibibytes(gib), {}, false};
    }
    NodeInventory node_ = build::node("n1", 2, gibibytes(16));
};

// Goal: for one GPU, the annotations that gpushare's users and tools read
// (docs/research/gpushare.md §1.3). ASSIGNED is true at once, because our agent does not use it.
TEST_F(BindingAnnotations, AliyunOneGpu) {
    const Allocation given = allocation({{"main", {}, {share(1, 8)}}});
    const auto out = binding_annotations(given, node_, kTime, nullptr);
    const std::map<std::string, std::string, std::less<>> expected = {
        {"tessera.dev/allocation", write_allocation(given)},
        {"tessera.dev/enforced-by", "none"},
        {"ALIYUN_COM_GPU_MEM_IDX", "1"},
        {"ALIYUN_COM_GPU_MEM_DEV", "16"},
        {"ALIYUN_COM_GPU_MEM_POD", "8"},
        {"ALIYUN_COM_GPU_MEM_ASSIGNED", "true"},
        {"ALIYUN_COM_GPU_MEM_ASSUME_TIME", "1795229693218179571"},
    };
    EXPECT_EQ(out, expected);
}

// Goal: a share is enforced as the node's agent says; whole GPUs need no enforcement.
TEST_F(BindingAnnotations, SaysHowAShareIsHeld) {
    GpuShare whole = share(0, 16);
    whole.whole = true;
    const Allocation shared = allocation({{"main", {}, {share(1, 8)}}, {"side", {}, {whole}}});
    const Allocation alone = allocation({{"main", {}, {whole}}});
    const auto said = [&](const Allocation& of) {
        return binding_annotations(of, node_, kTime, nullptr).at("tessera.dev/enforced-by");
    };
    EXPECT_EQ(said(shared), "none");
    node_.shares = EnforcementMode::guard;
    EXPECT_EQ(said(shared), "guard");
    EXPECT_EQ(said(alone), "exclusive");
    node_.gpus[0].limits_memory = true;
    EXPECT_EQ(said(shared), "guard") << "the driver does not limit the memory of its GPU";
    node_.gpus[1].limits_memory = true;
    EXPECT_EQ(said(shared), "memory=driver,compute=guard");
    EXPECT_EQ(said(alone), "exclusive");
    GpuShare with_mps = share(1, 8);
    with_mps.mps = true;
    EXPECT_EQ(said(allocation({{"main", {}, {with_mps}}})), "memory=guard,compute=mps");
}

// Goal: with a seal, the signature of exactly that text is included.
TEST_F(BindingAnnotations, Signed) {
    const auto seal = AllocationSeal::from_keys(std::string(64, 'a'));
    const auto out =
        binding_annotations(allocation({{"main", {}, {share(1, 8)}}}), node_, kTime, &*seal);
    EXPECT_TRUE(
        seal->is_ours(out.at("tessera.dev/allocation"), out.at("tessera.dev/allocation-mac")));
}

// Goal: on a node of gpushare's plugin the pod must wait for that plugin: ASSIGNED is "false".
TEST_F(BindingAnnotations, LegacyNodeWaitsForItsPlugin) {
    const NodeInventory legacy = build::legacy_node("n1", 2, 16);
    const Allocation given =
        allocation({{"main", {}, {{legacy.gpus[0].uuid, 0, gibibytes(8), {}, false}}}});
    const auto out = binding_annotations(given, legacy, kTime, nullptr);
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_ASSIGNED"), "false");
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_DEV"), "16");
}

// Goal: several GPUs go into the JSON that gpushare's inspect reads first. POD is the pod's sum at
// its peak, DEV the first GPU's size.
TEST_F(BindingAnnotations, AliyunSeveralGpus) {
    node_.gpus[1].memory = gibibytes(24);
    const auto out =
        binding_annotations(allocation({{"prepare", ContainerKind::init, {share(0, 9)}},
                                        {"main", {}, {share(0, 4), share(1, 4)}}}),
                            node_, kTime, nullptr);
    EXPECT_EQ(out.at("scheduler.framework.gpushare.allocation"),
              R"({"0":{"0":9},"1":{"0":4,"1":4}})");
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_POD"), "13");
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_DEV"), "16");
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_IDX"), "0");
}

// Goal: IDX and DEV are those of the first container's first GPU, and DEV is the size that shares
// may use: the GPU's size minus what the driver reserves.
TEST_F(BindingAnnotations, IndexAndSizeOfTheFirstContainersGpu) {
    node_.gpus[1].memory = gibibytes(24);
    node_.gpus[1].reserved = mebibytes(512);
    const auto out =
        binding_annotations(allocation({{"main", {}, {share(1, 4)}}, {"side", {}, {share(0, 2)}}}),
                            node_, kTime, nullptr);
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_IDX"), "1");
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_DEV"), "23");
    EXPECT_EQ(out.at("ALIYUN_COM_GPU_MEM_POD"), "6");
    EXPECT_EQ(out.at("scheduler.framework.gpushare.allocation"), R"({"0":{"1":4},"1":{"0":2}})");
}

// Goal: native pods have none of gpushare's annotations. Whole GPUs are exclusive; shares on a node
// without enforcement are not enforced, and the pod says so.
TEST_F(BindingAnnotations, Native) {
    Allocation given = allocation({{"main", {}, {share(0, 16)}}});
    given.dialect = &kNativeDialect;
    given.containers[0].gpus[0].whole = true;
    auto out = binding_annotations(given, node_, kTime, nullptr);
    EXPECT_EQ(out.size(), 2U);
    EXPECT_EQ(out.at("tessera.dev/enforced-by"), "exclusive");
    given.containers.push_back({"side", {}, {share(1, 2)}});
    out = binding_annotations(given, node_, kTime, nullptr);
    EXPECT_EQ(out.at("tessera.dev/enforced-by"), "none");
}

// Goal: what is written with a Binding reads back from the pod: our allocation, and for gpushare's
// tools the same GPUs and amounts.
TEST_F(BindingAnnotations, ReadBackFromThePod) {
    const Allocation given = allocation({{"main", {}, {share(0, 4), share(1, 4)}}});
    JsonWriter w;
    w.object([&] {
        w.object("metadata", [&] {
            w.object("annotations", [&] {
                for (const auto& [name, value] : binding_annotations(given, node_, kTime, nullptr))
                    w.member(name, value);
            });
        });
        w.raw_member("spec", R"({"containers":[{"name":"main","resources":{"limits":)"
                             R"({"aliyun.com/gpu-mem":"8","aliyun.com/gpu-count":"2"}}}]})");
    });
    const auto document = JsonDocument::parse(w.take());
    const PodInfo pod = read_pod(document->root());
    EXPECT_EQ(pod.allocation->value(), given);
    EXPECT_EQ(pod.legacy->shares, (std::vector<LegacyAllocation::Share>{{0, 4}, {1, 4}}));
}

// Goal: a pod of gpu-manager, as the webhook of kubernetes-gpusharing leaves it, gets half of a
// GPU's compute time, 15 units of 256 MiB, and gpu-manager's annotations. Those that it has already
// are of another pod and do not count.
TEST_F(BindingAnnotations, PodOfGpuManager) {
    const auto document = JsonDocument::parse(R"({
      "metadata":{"name":"gpu-pod","namespace":"default","uid":"u",
        "annotations":{"tencent.com/vcuda-core-limit":"50","tencent.com/predicate-gpu-idx-0":"7",
                       "tencent.com/gpu-assigned":"false"}},
      "spec":{"priorityClassName":"gpu-default-priority","containers":[
        {"name":"main","image":"cuda","resources":{
          "limits":{"tencent.com/vcuda-core":"50","tencent.com/vcuda-memory":"15"},
          "requests":{"tencent.com/vcuda-core":"50","tencent.com/vcuda-memory":"15"}}},
        {"name":"gpu-sidecar","image":"timozerrer/gpu-sidecar"}]}})");
    ASSERT_TRUE(document);
    const PodInfo pod = read_pod(document->root());
    ASSERT_TRUE(pod.request) << pod.request.error().text;
    EXPECT_FALSE(pod.legacy) << "the annotations of gpu-manager have no amounts";
    ASSERT_EQ(pod.request->size(), 1U);
    Assignment on_the_second;
    on_the_second.gpus = {1};
    const Allocation given{pod.uid, node_.name, pod.request->front().gpu.dialect,
                           containers_of(*pod.request, on_the_second, node_.gpus, MemoryUnit::gib)};
    const GpuShare& share = given.containers.front().gpus.front();
    EXPECT_EQ(share.memory, mebibytes(15 * 256));
    EXPECT_EQ(share.cores, Percent{50});
    EXPECT_EQ(share.cores_limit, Percent{50});
    const auto out = binding_annotations(given, node_, kTime, nullptr);
    EXPECT_EQ(out, (std::map<std::string, std::string, std::less<>>{
                       {"tessera.dev/allocation", write_allocation(given)},
                       {"tessera.dev/enforced-by", "none"},
                       {"tencent.com/predicate-gpu-idx-0", "1"},
                       {"tencent.com/predicate-node", "n1"},
                       {"tencent.com/predicate-time", "1795229693218179571"},
                       {"tencent.com/gpu-assigned", "true"}}));
    EXPECT_EQ(*read_allocation(write_allocation(given)), given);
}

}  // namespace
}  // namespace tessera

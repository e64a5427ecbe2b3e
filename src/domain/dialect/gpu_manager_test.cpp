#include "domain/dialect/gpu_manager.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

using build::container;
using build::Limits;

const std::string kCore(resource::kVcudaCore);
const std::string kMemory(resource::kVcudaMemory);
const std::string kLimit(key::kVcudaCoreLimit);

// A share of one GPU. Without a compute limit of the pod, the cores are the limit.
GpuRequest share(int cores, std::int64_t units, int limit = 0) {
    return {.gpus = 1,
            .memory = {MemoryRequest::Kind::bytes, units << 28},
            .cores = {cores},
            .cores_limit = {limit == 0 ? cores : limit},
            .dialect = &kGpuManagerDialect};
}

GpuRequest whole(int gpus) {
    return {.gpus = gpus, .memory = {}, .cores = {}, .dialect = &kGpuManagerDialect};
}

Result<ContainerRequests> parse(std::vector<ContainerSpec> containers, StringMap annotations = {},
                                std::optional<std::string> cores_limit = {}) {
    return parse_container_requests({.containers = std::move(containers),
                                     .annotations = std::move(annotations),
                                     .cores_limit = std::move(cores_limit)});
}

// Goal: each way to write a request has one meaning. Method: a table of one container's limits and
// values. The first is the example of kubernetes-gpusharing.
TEST(GpuManager, ReadsSharesAndWholeGpus) {
    struct Case {
        Limits limits;
        GpuRequest expected;
    };
    const std::vector<Case> cases = {
        {{{kCore, "50"}, {kMemory, "15"}}, share(50, 15)},
        {{{kMemory, "1"}, {kCore, "1"}}, share(1, 1)},
        {{{kCore, "99"}, {kMemory, "1k"}}, share(99, 1000)},
        {{{kCore, "100"}}, whole(1)},
        {{{kCore, "100"}, {kMemory, "15"}}, whole(1)},
        {{{kCore, "100"}, {kMemory, "0"}}, whole(1)},
        {{{kCore, "300"}}, whole(3)},
        // The API server writes 1000 like this.
        {{{kCore, "1k"}}, whole(10)},
        {{{kCore, "6400"}}, whole(64)},
    };
    for (const Case& c : cases) {
        const auto request = parse({container("main", c.limits)});
        ASSERT_TRUE(request) << request.error().text;
        ASSERT_EQ(request->size(), 1U);
        EXPECT_EQ(request->front(), (ContainerRequest{"main", ContainerKind::app, c.expected}));
    }
    for (const Limits& none :
         {Limits{}, Limits{{kCore, "0"}}, Limits{{kMemory, "0"}, {kCore, "0"}}}) {
        const auto request = parse({container("main", none)});
        ASSERT_TRUE(request) << request.error().text;
        EXPECT_TRUE(request->empty());
    }
}

// Goal: an amount that gpu-manager ignores, rounds or fails on is refused. The message names the
// container, the resource, the amount and the fix.
TEST(GpuManager, RefusesAmounts) {
    struct Case {
        Limits limits;
        std::string resource;
        std::string words;
    };
    const std::vector<Case> cases = {
        {{{kCore, "50"}}, kCore, "50 is a share of a GPU and needs tencent.com/vcuda-memory"},
        {{{kCore, "50"}, {kMemory, "0"}}, kCore, "such as 15; for a whole GPU write 100"},
        {{{kMemory, "15"}}, kMemory, "15 needs tencent.com/vcuda-core beside it"},
        {{{kCore, "0"}, {kMemory, "15"}}, kMemory, "such as 50"},
        {{{kCore, "150"}}, kCore, "150 is neither a share of one GPU (1 to 99) nor a multiple of"},
        {{{kCore, "150"}, {kMemory, "4"}}, kCore, "write 100 or 200"},
        {{{kCore, "6399"}}, kCore, "write 6300 or 6400"},
        {{{kCore, "6500"}}, kCore, "6500 is more than 64 GPUs have; write at most 6400"},
        {{{kCore, "9223372036854775807"}}, kCore, "write at most 6400"},
        {{{kCore, "50"}, {kMemory, "4194305"}}, kMemory, "is the unit right?"},
        {{{kCore, "50"}, {kMemory, "9223372036854775807"}}, kMemory, "is the unit right?"},
        {{{kCore, "50"}, {kMemory, "4Gi"}}, kMemory, "is the unit right?"},
        {{{kCore, "-50"}, {kMemory, "15"}}, kCore, "write a positive"},
        {{{kCore, "50"}, {kMemory, "-1"}}, kMemory, "write a positive"},
        {{{kCore, "0.5"}, {kMemory, "15"}}, kCore, "round it up"},
        {{{kCore, "half"}, {kMemory, "15"}}, kCore, "write a whole number"},
        {{{kCore, ""}, {kMemory, "15"}}, kCore, "write a whole number"},
        {{{kCore, "100"}, {kMemory, "much"}}, kMemory, "write a whole number"},
        {{{kCore, "9223372036854775808"}}, kCore, "is too large"},
    };
    for (const Case& c : cases) {
        const auto request = parse({container("worker", c.limits)});
        ASSERT_FALSE(request) << c.words;
        const std::string& text = request.error().text;
        EXPECT_EQ(request.error().code, Code::invalid_argument) << text;
        EXPECT_TRUE(text.starts_with("container worker: " + c.resource + ": ")) << text;
        EXPECT_NE(text.find(c.words), std::string::npos) << text;
    }
}

// Goal: each container is read, and an error names the one that is wrong. kubernetes-gpusharing
// stops at the first container that it decides on, and gpu-manager ignores init containers.
TEST(GpuManager, ReadsEachContainer) {
    const Limits good = {{kCore, "20"}, {kMemory, "4"}};
    const auto request =
        parse({container("prepare", good, ContainerKind::init), container("plain", {}),
               container("main", {{kCore, "200"}}), container("side", good)});
    ASSERT_TRUE(request) << request.error().text;
    ASSERT_EQ(request->size(), 3U);
    EXPECT_EQ((*request)[0].kind, ContainerKind::init);
    EXPECT_EQ((*request)[0].gpu, share(20, 4));
    EXPECT_EQ((*request)[1].gpu, whole(2));
    EXPECT_EQ((*request)[2].gpu, share(20, 4));
    for (const ContainerKind kind :
         {ContainerKind::app, ContainerKind::init, ContainerKind::sidecar}) {
        const auto refused =
            parse({container("first", good), container("second", {{kCore, "20"}}, kind)});
        ASSERT_FALSE(refused);
        EXPECT_TRUE(refused.error().text.starts_with("container second: "));
    }
}

// Goal: the annotation raises the compute limit of each share, above 100 to 100 as gpu-manager
// does, and of no whole GPU. Method: a table.
TEST(GpuManager, ComputeLimit) {
    struct Case {
        const char* text;
        Limits limits;
        int limit;  // 0: refused
        const char* words;
    };
    const Limits half = {{kCore, "50"}, {kMemory, "15"}};
    const std::vector<Case> cases = {
        {"80", half, 80, ""},
        {"50", half, 50, ""},
        {"100", half, 100, ""},
        {"200", half, 100, ""},
        {"200", {{kCore, "200"}}, 100, ""},
        {"30", half, 0,
         "30 is below the 50 of tencent.com/vcuda-core that container main asks for; write 50"},
        {"0", half, 0, "\"0\" is not a percentage of one GPU; write 1 to 100"},
        {"-80", half, 0, "\"-80\" is not"},
        {"1k", half, 0, "without a unit"},
        {"80%", half, 0, "\"80%\" is not"},
        {"", half, 0, "\"\" is not"},
        {"99999999999999999999", half, 0, "is not a percentage"},
        {"much", {{kCore, "200"}}, 0, "\"much\" is not"},
    };
    for (const Case& c : cases) {
        const auto request = parse({container("main", c.limits)}, {{kLimit, c.text}});
        if (c.limit > 0) {
            ASSERT_TRUE(request) << c.text << ": " << request.error().text;
            EXPECT_EQ(request->front().gpu.cores_limit.value, c.limit) << c.text;
            continue;
        }
        ASSERT_FALSE(request) << c.text;
        EXPECT_EQ(request.error().code, Code::invalid_argument);
        EXPECT_TRUE(request.error().text.starts_with("annotation " + kLimit + ": "));
        EXPECT_NE(request.error().text.find(c.words), std::string::npos) << request.error().text;
    }
    EXPECT_TRUE(parse({container("main", {{kCore, "0"}})}, {{kLimit, "x"}})) << "requests no GPU";
    EXPECT_TRUE(parse({container("main", {{"tessera.dev/gpu", "1"}})}, {{kLimit, "x"}}))
        << "another dialect";
}

// Goal: tessera.dev/gpu-cores-limit works with this dialect, too, but not beside its own
// annotation.
TEST(GpuManager, ComputeLimitOfTessera) {
    const Limits half = {{kCore, "50"}, {kMemory, "15"}};
    const auto raised = parse({container("main", half)}, {}, "70");
    ASSERT_TRUE(raised) << raised.error().text;
    EXPECT_EQ(raised->front().gpu, share(50, 15, 70));
    const auto both = parse({container("main", half)}, {{kLimit, "80"}}, "70");
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().text,
              "annotation tencent.com/vcuda-core-limit: stands beside tessera.dev/gpu-cores-limit; "
              "write one of them");
}

// Goal: a placed pod has gpu-manager's annotations: the indexes of the GPUs of each app container.
TEST(GpuManager, AnnotatesAPlacedPod) {
    const auto on = [](int index) { return GpuShare{.uuid = GpuUuid("GPU-x"), .index = index}; };
    const Allocation allocation{PodUid("u"),
                                NodeName("n1"),
                                &kGpuManagerDialect,
                                {{"prepare", ContainerKind::init, {on(5)}},
                                 {"main", ContainerKind::app, {on(2), on(3)}},
                                 {"side", ContainerKind::app, {on(0)}}}};
    StringMap annotations;
    kGpuManagerDialect.annotate(allocation, NodeInventory{}, 1234, annotations);
    EXPECT_EQ(annotations, (StringMap{{"tencent.com/predicate-gpu-idx-0", "2,3"},
                                      {"tencent.com/predicate-gpu-idx-1", "0"},
                                      {"tencent.com/predicate-node", "n1"},
                                      {"tencent.com/predicate-time", "1234"},
                                      {"tencent.com/gpu-assigned", "true"}}));
}

// Goal: a pod never gets an annotation that the webhook would not remove from its copy, however
// many containers it has.
TEST(GpuManager, WritesOnlyListedAnnotations) {
    Allocation allocation;
    for (int i = 0; i < 20; ++i)
        allocation.containers.push_back({std::to_string(i), ContainerKind::app, {GpuShare{}}});
    StringMap annotations;
    kGpuManagerDialect.annotate(allocation, NodeInventory{}, 1, annotations);
    const auto listed = kGpuManagerDialect.written_annotations;
    EXPECT_EQ(annotations.size(), listed.size());
    for (const auto& [key, text] : annotations)
        EXPECT_EQ(std::ranges::count(listed, key), 1) << key;
}

// Goal: kubelet counts 256 MiB as one unit, so a share is resized by whole units.
TEST(GpuManager, CountsUnits) {
    const CountedMemory& counted = *kGpuManagerDialect.counted_memory;
    EXPECT_EQ(counted.resource, resource::kVcudaMemory);
    for (const MemoryUnit unit : {MemoryUnit::gib, MemoryUnit::mib})
        EXPECT_EQ(counted.unit(unit), mebibytes(256));
}

}  // namespace
}  // namespace tessera

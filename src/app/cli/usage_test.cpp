#include "app/cli/usage.hpp"

#include <gtest/gtest.h>

#include "app/cli/tables.hpp"
#include "testing/builders/builders.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

NodeInventory node() {
    NodeInventory out = build::node("n1", 2, gibibytes(16));
    out.gpus[1].condition = GpuCondition::unhealthy;
    out.gpus[1].reason = "Xid 79";
    return out;
}

PodInfo placed(const std::string& name, int gpu, int gib, int cores) {
    const PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
    return build::bound(
        pod,
        build::allocation(
            pod, "n1",
            {{GpuUuid("GPU-n1-" + std::to_string(gpu)), gpu, gibibytes(gib), {cores}, false}}));
}

// Goal: memory that is used above a lowered limit counts as allocated.
TEST(Usage, ExcessIsHeld) {
    NodeInventory with_over_limit = node();
    with_over_limit.gpus[0].over_limit = gibibytes(2);
    EXPECT_EQ(usage_of({with_over_limit}, std::vector{placed("a", 0, 4, 30)})[0].allocated(0),
              gibibytes(6));
}

// Goal: usage comes from the API's objects alone: placed pods on their GPUs, pods without a GPU as
// pending, finished and unbound ones not at all.
TEST(Usage, OfPods) {
    PodInfo finished = placed("finished", 0, 3, 0);
    finished.finished = true;
    PodInfo terminating = placed("terminating", 0, 2, 0);
    terminating.terminating = true;
    PodInfo unplaced = build::pod("unplaced", build::native(gibibytes(5), 2));
    unplaced.node = NodeName("n1");
    PodInfo elsewhere = placed("elsewhere", 7, 1, 0);
    PodInfo legacy = build::legacy_bound(build::pod("legacy", build::aliyun(6)), "n1", 1, 6);
    legacy.started = true;
    PodInfo other_node = placed("other", 0, 9, 0);
    other_node.node = NodeName("n9");
    const auto nodes = usage_of(
        {node(), build::node("cpu", 0, {})},
        std::vector{placed("a", 0, 4, 30), finished, terminating, unplaced, elsewhere, legacy,
                    other_node, build::pod("waiting", build::aliyun(3)), build::pod("plain", {})});
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].allocated(0), gibibytes(6));
    EXPECT_EQ(nodes[0].allocated(1), gibibytes(6));
    EXPECT_EQ(nodes[0].allocated_cores(0), Percent{30});
    EXPECT_EQ(nodes[0].allocated_cores(1), Percent{0});
    EXPECT_EQ(nodes[0].pending(), gibibytes(10));
    ASSERT_EQ(nodes[0].pods.size(), 5U);
    EXPECT_EQ(nodes[0].pods[0].name.name, "a");
    EXPECT_EQ(nodes[0].pods[1].elsewhere, gibibytes(1));
}

// Goal: an allocation for another pod or node, as in a copied manifest, is ignored, as it is by the
// controller; gpushare's annotations next to it are ignored too.
TEST(Usage, ForeignAllocations) {
    PodInfo copied = placed("copied", 0, 4, 30);
    copied.uid = PodUid("another");
    PodInfo moved = placed("moved", 0, 3, 0);
    (*moved.allocation)->node = NodeName("n7");
    PodInfo both = placed("both", 0, 2, 0);
    both.uid = PodUid("a-third");
    both.legacy = LegacyAllocation{&kGpushareDialect, {{1, 2}}};
    const auto nodes = usage_of({node()}, std::vector{copied, moved, both});
    EXPECT_EQ(nodes[0].allocated(0), Bytes{});
    EXPECT_EQ(nodes[0].allocated(1), Bytes{});
    EXPECT_EQ(nodes[0].pending(), gibibytes(9));
}

// Goal: a pod that requests no GPU is not shown, whatever its annotations say.
TEST(Usage, PodsThatRequestNothing) {
    PodInfo zero = build::pod("zero", build::aliyun(0));
    zero.node = NodeName("n1");
    PodInfo annotated = placed("annotated", 0, 4, 0);
    build::set_containers(annotated, {});
    PodInfo legacy = build::legacy_bound(build::pod("legacy", build::aliyun(0)), "n1", 1, 6);
    EXPECT_TRUE(usage_of({node()}, std::vector{zero, annotated, legacy})[0].pods.empty());
}

// Goal: a pod counts with its peak: an init container's share is not added to that of the
// containers that start after it.
TEST(Usage, PeakOfAPod) {
    const PodInfo pod = build::pod("p", build::aliyun(4));
    Allocation given =
        build::allocation(pod, "n1", {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {}, false}});
    given.containers.insert(
        given.containers.begin(),
        {"prepare", ContainerKind::init, {{GpuUuid("GPU-n1-0"), 0, gibibytes(9), {}, false}}});
    EXPECT_EQ(usage_of({node()}, std::vector{build::bound(pod, given)})[0].allocated(0),
              gibibytes(9));
}

// Goal: a pod's memory and compute are shown for each GPU.
TEST(Usage, EachGpuOfAPod) {
    const PodInfo pod = build::pod("p", build::aliyun(4));
    const Allocation given =
        build::allocation(pod, "n1",
                          {{GpuUuid("GPU-n1-0"), 0, gibibytes(4), {20}, false},
                           {GpuUuid("GPU-n1-1"), 1, gibibytes(2), {70}, false}});
    const auto nodes = usage_of({node()}, std::vector{build::bound(pod, given)});
    EXPECT_EQ(nodes[0].allocated_cores(0), Percent{20});
    EXPECT_EQ(nodes[0].allocated_cores(1), Percent{70});
    EXPECT_EQ(nodes[0].allocated(1), gibibytes(2));
}

// Goal: a pod without a GPU that requests whole GPUs counts as the largest GPU; one with an invalid
// request counts as zero.
TEST(Usage, PendingAmounts) {
    PodInfo whole = build::pod("whole", build::whole());
    whole.node = NodeName("n1");
    PodInfo wrong = build::pod("wrong", {build::container("a", {{"aliyun.com/gpu-mem", "x"}})});
    wrong.node = NodeName("n1");
    EXPECT_EQ(usage_of({node()}, std::vector{whole, wrong})[0].pending(), gibibytes(16));
}

// Goal: the tables for people: one line per GPU, the fullest first in top.
TEST(Tables, WideAndTop) {
    const auto nodes = usage_of({node(), build::node("n0", 1, gibibytes(80))},
                                std::vector{placed("a", 0, 4, 30), placed("b", 0, 4, 20)});
    EXPECT_EQ(
        wide_table(nodes),
        "NODE  GPU  MODEL         ALLOCATED  CAPACITY  ALLOC%  CORES%  PODS  HEALTH             "
        "UUID\n"
        "n0    0    Simulated T4  0          80Gi      0       0       0     healthy            "
        "GPU-n0-0\n"
        "n1    0    Simulated T4  8Gi        16Gi      50      50      2     healthy            "
        "GPU-n1-0\n"
        "n1    1    Simulated T4  0          16Gi      0       0       0     unhealthy: Xid 79  "
        "GPU-n1-1\n");
    const std::string top = top_table(nodes);
    EXPECT_EQ(top.find("UUID"), std::string::npos);
    EXPECT_LT(top.find("n1    0"), top.find("n0    0"));
    EXPECT_LT(top.find("n0    0"), top.find("n1    1")) << "equal GPUs keep their order";
    EXPECT_EQ(wide_table({}),
              "NODE  GPU  MODEL  ALLOCATED  CAPACITY  ALLOC%  CORES%  PODS  HEALTH  UUID\n");
}

// Goal: GPUs that accept no pods are listed apart with their reasons; a healthy cluster has no such
// list.
TEST(Tables, UnusableGpus) {
    const auto nodes =
        usage_of({node(), build::node("n0", 1, gibibytes(80))}, std::vector{placed("a", 1, 4, 30)});
    EXPECT_EQ(unusable_gpus_text(nodes),
              "\nGPUs that accept no new pods, not counted above:\n"
              "NODE  GPU  ALLOCATED  CAPACITY  HEALTH\n"
              "n1    1    4Gi        16Gi      unhealthy: Xid 79\n");
    EXPECT_EQ(unusable_gpus_text(usage_of({build::node("n0", 1, gibibytes(80))}, {})), "");
}

// Goal: the last report of an agent that is not ready is not shown as the GPUs' health. A node that
// gpushare's plugin serves has no agent.
TEST(Tables, WithoutAReadyAgent) {
    NodeInventory former = build::node("n2", 1, gibibytes(16));
    former.source = InventorySource::legacy;
    auto nodes = usage_of({build::node("n0", 1, gibibytes(16)), node(), former}, {});
    set_agents(nodes, {NodeName("n0")});
    const std::string table = wide_table(nodes);
    const std::string unknown = "unknown: no agent is ready (last report: ";
    EXPECT_NE(table.find(unknown + "healthy) "), std::string::npos) << table;
    EXPECT_NE(table.find(unknown + "unhealthy: Xid 79) "), std::string::npos) << table;
    EXPECT_LT(table.find(" healthy  "), table.find("n1")) << table;
    EXPECT_EQ(agents_text(nodes),
              "no agent is ready on n1: the health of the GPUs there is unknown, and they are "
              "shown as they were reported last (tessera doctor, check agents)");
    const auto json = JsonDocument::parse(usage_json(nodes));
    const auto shown = json->root()["nodes"].elements();
    EXPECT_EQ(shown.at(0)["agentReady"].boolean(), true);
    EXPECT_EQ(shown.at(1)["agentReady"].boolean(), false);
    EXPECT_FALSE(shown.at(2)["agentReady"].present());
    set_agents(nodes, {NodeName("n0"), NodeName("n1")});
    EXPECT_EQ(agents_text(nodes), "");
}

// Goal: an amount that is not a whole MiB is readable, and is rounded up.
TEST(Tables, OddAmounts) {
    PodInfo odd = placed("odd", 0, 4, 0);
    (*odd.allocation)->containers[0].gpus[0].memory = Bytes{4 * kGiB + 1};
    EXPECT_NE(top_table(usage_of({node()}, std::vector{odd})).find("4097Mi"), std::string::npos);
}

// Goal: the JSON for scripts has everything, with its version.
TEST(Tables, Json) {
    PodInfo unplaced = build::pod("late", build::native(gibibytes(5)));
    unplaced.node = NodeName("n1");
    const auto document = JsonDocument::parse(
        usage_json(usage_of({node()}, std::vector{placed("a", 0, 4, 30), unplaced})));
    ASSERT_TRUE(document);
    const JsonValue root = document->root();
    EXPECT_EQ(root["version"].integer(), 1);
    const JsonValue n1 = root["nodes"].elements().at(0);
    EXPECT_EQ(n1["name"].text(), "n1");
    EXPECT_EQ(n1["unit"].text(), "GiB");
    const auto gpus = n1["gpus"].elements();
    ASSERT_EQ(gpus.size(), 2U);
    EXPECT_EQ(gpus[0]["allocatedBytes"].integer(), 4 * kGiB);
    EXPECT_EQ(gpus[0]["allocatedCoresPercent"].integer(), 30);
    EXPECT_TRUE(gpus[0]["healthy"].is_true());
    EXPECT_FALSE(gpus[0]["reason"].present());
    EXPECT_EQ(gpus[0]["pods"].elements().at(0)["name"].text(), "a");
    EXPECT_EQ(gpus[1]["reason"].text(), "Xid 79");
    EXPECT_EQ(n1["withoutGpu"].elements().at(0)["askedBytes"].integer(), 5 * kGiB);
}

}  // namespace
}  // namespace tessera

#include "domain/dump/cluster_dump.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

PodInfo on(PodInfo pod, const NodeInventory& node, int gpu, Bytes memory) {
    const auto allocation = build::allocation(
        pod, node.name.str(), {{node.gpus[static_cast<std::size_t>(gpu)].uuid, gpu, memory, {}}});
    return build::bound(std::move(pod), allocation);
}

// Goal: the dump has the running pods with their GPUs, the pending pods, and the CPU and memory of
// other pods. Pods that are finished, or request nothing or something invalid, are left out.
TEST(ClusterDump, TellsWhoIsWhere) {
    const NodeInventory node = build::node("n", 2, gibibytes(16));
    std::vector<SeenPod> pods;
    pods.push_back(
        {on(build::pod("runs", build::native(gibibytes(4))), node, 1, gibibytes(4)), "", false});
    pods.push_back({build::pod("waits", build::whole()), "", true});
    pods.push_back({build::pod("done", build::whole()), "", false});
    pods.back().info.finished = true;
    pods.push_back({build::pod("nonsense", {build::container("m", {{"tessera.dev/gpu", "x"}})})});
    pods.push_back({build::pod("plain", {})});
    pods.back().info.node = node.name;
    pods.back().info.host = {500, mebibytes(7)};
    const ClusterDump out = dump_of(std::vector<SeenNode>{{node, true}}, pods);
    ASSERT_EQ(out.nodes.size(), 1U);
    EXPECT_TRUE(out.nodes[0].closed);
    EXPECT_EQ(out.nodes[0].others, (HostRequest{500, mebibytes(7)}));
    EXPECT_EQ(out.nodes[0].gpus.size(), 2U);
    ASSERT_EQ(out.pods.size(), 2U);
    EXPECT_EQ(out.pods[0].node, "n");
    EXPECT_EQ(out.pods[0].allocated,
              (std::vector<DumpAllocation>{{ContainerKind::app, {{1, gibibytes(4), {}, false}}}}));
    EXPECT_EQ(out.pods[0].requests[0].memory,
              (MemoryRequest{MemoryRequest::Kind::bytes, gibibytes(4).count}));
    EXPECT_EQ(out.pods[1].name.name, "waits");
    EXPECT_TRUE(out.pods[1].node.empty());
    EXPECT_TRUE(out.pods[1].chooses_nodes);
    EXPECT_EQ(out.left_out, DumpOmission{.faulty = 1});
}

// Goal: the dump says how many pods are left out, and why.
TEST(ClusterDump, CountsWhoIsLeftOut) {
    const NodeInventory node = build::node("n", 1, gibibytes(16));
    std::vector<SeenPod> pods;
    const auto add = [&](const char* name, const auto& change) {
        pods.push_back({build::pod(name, build::whole()), "", false});
        change(pods.back().info);
    };
    add("waits", [](PodInfo&) {});
    EXPECT_EQ(left_out_text(dump_of(std::vector<SeenNode>{{node, false}}, pods).left_out), "");
    add("gated", [](PodInfo& pod) { pod.gated = true; });
    add("gated too", [](PodInfo& pod) { pod.gated = true; });
    add("ending", [](PodInfo& pod) { pod.terminating = true; });
    add("elsewhere", [](PodInfo& pod) { pod.node = NodeName("gone"); });
    add("done", [](PodInfo& pod) { pod.finished = true; });
    const ClusterDump out = dump_of(std::vector<SeenNode>{{node, false}}, pods);
    EXPECT_EQ(out.pods.size(), 1U);
    EXPECT_EQ(out.left_out, (DumpOmission{.gated = 2, .ending = 1, .unknown = 1}));
    EXPECT_EQ(left_out_text(out.left_out),
              "4 pods with GPUs are left out: 2 with scheduling gates, 1 ending, 1 on a node, but "
              "on unknown GPUs");
    EXPECT_EQ(left_out_text({.faulty = 1}),
              "1 pod with GPUs is left out: 1 with an invalid request");
    EXPECT_EQ(anonymous(out).left_out, out.left_out);
}

// Goal: the dump contains the rules. If they have become invalid, a running pod keeps its GPUs, and
// a pending pod is left out.
TEST(ClusterDump, RulesOnGpus) {
    const NodeInventory node = build::node("n", 1, gibibytes(16));
    std::vector<SeenPod> pods;
    pods.push_back({build::pod("waits", build::native(gibibytes(4))), "", false});
    pods.back().info.gpu_rules = {"A100", "!" + node.gpus[0].uuid.str(), "a", "t"};
    for (const char* name : {"runs", "nonsense"}) {
        pods.push_back({build::pod(name, build::native(gibibytes(4))), "", false});
        pods.back().info.gpu_rules.models = ",";
    }
    pods[1].info = on(std::move(pods[1].info), node, 0, gibibytes(4));
    const ClusterDump out = dump_of(std::vector<SeenNode>{{node, false}}, pods);
    EXPECT_EQ(out.nodes[0].gpus[0].uuid, node.gpus[0].uuid);
    ASSERT_EQ(out.pods.size(), 2U);
    EXPECT_EQ(out.pods[0].gpu_rules, pods[0].info.gpu_rules);
    EXPECT_EQ(out.pods[1].name.name, "runs");
    EXPECT_EQ(out.pods[1].gpu_rules, GpuRuleTexts{});
    EXPECT_EQ(out.pods[1].allocated.size(), 1U);
}

// Goal: links are given by the positions of the GPUs in the list. The driver's indices differ from
// these if a GPU is missing.
TEST(ClusterDump, LinksBetweenGpus) {
    NodeInventory node = build::node("n", 3, gibibytes(16));
    for (std::size_t place = 0; place < 3; ++place)
        node.gpus[place].index = static_cast<int>(place) + (place > 0 ? 1 : 0);  // 0, 2, 3
    node.gpus[0].links = {.numa = 1, .pcie = 0b0010, .nvlink = 0b1101};          // includes itself
    node.gpus[2].links.nvlink = 0b0001;
    const ClusterDump out = dump_of(std::vector<SeenNode>{{node, false}}, {});
    EXPECT_EQ(out.nodes[0].gpus[0].links, (GpuLinks{.numa = 1, .pcie = 0, .nvlink = 0b110}));
    EXPECT_EQ(out.nodes[0].gpus[1].links, GpuLinks{});
    EXPECT_EQ(out.nodes[0].gpus[2].links, (GpuLinks{.nvlink = 0b001}));
    EXPECT_TRUE(out.tells_links);
}

// Goal: no share is larger than its GPU, and a whole GPU is all of it, even if more of the GPU is
// reserved now than at the time of the allocation.
TEST(ClusterDump, SharesArePartsOfTheirGpus) {
    NodeInventory node = build::node("n", 2, gibibytes(16));
    std::vector<SeenPod> pods;
    pods.push_back(
        {on(build::pod("part", build::native(gibibytes(16))), node, 0, gibibytes(16)), "", false});
    PodInfo whole = build::pod("whole", build::whole());
    auto allocation = build::allocation(whole, "n", {{node.gpus[1].uuid, 1, gibibytes(16), {}}});
    allocation.containers[0].gpus[0].whole = true;
    pods.push_back({build::bound(std::move(whole), allocation), "", false});
    for (Gpu& gpu : node.gpus)
        gpu.reserved = gibibytes(1);
    const ClusterDump out = dump_of(std::vector<SeenNode>{{node, false}}, pods);
    ASSERT_EQ(out.pods.size(), 2U);
    EXPECT_EQ(out.nodes[0].gpus[0].memory, gibibytes(15));
    for (const DumpPod& pod : out.pods)
        EXPECT_EQ(pod.allocated.at(0).shares.at(0).memory, gibibytes(15)) << pod.name.name;
}

// Goal: no name is left, and equal names get the same number.
TEST(ClusterDump, Anonymous) {
    ClusterDump dump;
    dump.nodes = {{.name = "a.secret"}, {.name = "b.secret"}};
    dump.pods = {{.name = {"team", "x"}, .node = "b.secret", .gang = GangMembership{"g", 2}},
                 {.name = {"team", "y"}, .node = "", .gang = GangMembership{"g", 2}},
                 {.name = {"other", "x"}, .node = "a.secret", .gang = GangMembership{"g", 2}}};
    const ClusterDump out = anonymous(dump);
    EXPECT_EQ(out.nodes[1].name, "node-2");
    EXPECT_EQ(out.pods[0].node, "node-2");
    EXPECT_EQ(out.pods[0].name, (PodName{"namespace-1", "pod-1"}));
    EXPECT_EQ(out.pods[1].node, "");
    EXPECT_EQ(out.pods[2].name, (PodName{"namespace-2", "pod-3"}));
    EXPECT_EQ(out.pods[0].gang->gang, out.pods[1].gang->gang);
    EXPECT_NE(out.pods[0].gang->gang, out.pods[2].gang->gang);
}

TEST(ClusterDump, AnonymousRules) {
    ClusterDump dump;
    dump.nodes = {{.name = "n",
                   .gpus = {{.model = "T4", .uuid = GpuUuid("GPU-a")},
                            {.model = "T4", .uuid = GpuUuid("GPU-b")}}}};
    dump.pods = {{.name = {"s", "x"}, .gpu_rules = {"T4", "!GPU-b,GPU-z", "g", ""}},
                 {.name = {"s", "y"}, .gpu_rules = {"", "", "g", ""}},
                 {.name = {"o", "z"}, .gpu_rules = {"", "", "", "g"}}};
    const ClusterDump out = anonymous(dump);
    EXPECT_EQ(out.nodes[0].gpus[1].uuid, GpuUuid("GPU-2"));
    EXPECT_EQ(out.pods[0].gpu_rules, (GpuRuleTexts{"T4", "GPU-3, !GPU-2", "group-1", ""}));
    EXPECT_EQ(out.pods[1].gpu_rules.anti_affinity, "group-1");
    EXPECT_EQ(out.pods[2].gpu_rules, (GpuRuleTexts{"", "", "", "group-2"}));
}

}  // namespace
}  // namespace tessera

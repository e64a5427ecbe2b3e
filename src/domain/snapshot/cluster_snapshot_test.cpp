#include "domain/snapshot/cluster_snapshot.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

PodFacts on(PodFacts pod, const NodeInventory& node, int card, Bytes memory) {
    const auto allocation = build::allocation(
        pod, node.name.str(), {{node.gpus[static_cast<std::size_t>(card)].uuid, card, memory, {}}});
    return build::bound(std::move(pod), allocation);
}

// Goal: who holds what, who waits, what others take of the host; who is finished, asks for nothing
// or asks nonsense is left out.
TEST(ClusterSnapshot, TellsWhoIsWhere) {
    const NodeInventory node = build::node("n", 2, gibibytes(16));
    std::vector<SeenPod> pods;
    pods.push_back(
        {on(build::pod("runs", build::native(gibibytes(4))), node, 1, gibibytes(4)), "", false});
    pods.push_back({build::pod("waits", build::whole()), "", true});
    pods.push_back({build::pod("done", build::whole()), "", false});
    pods.back().facts.finished = true;
    pods.push_back({build::pod("nonsense", {build::container("m", {{"tessera.dev/gpu", "x"}})})});
    pods.push_back({build::pod("plain", {})});
    pods.back().facts.node = node.name;
    pods.back().facts.host = {500, mebibytes(7)};
    const ClusterSnapshot out = snapshot_of(std::vector<SeenNode>{{node, true}}, pods);
    ASSERT_EQ(out.nodes.size(), 1U);
    EXPECT_TRUE(out.nodes[0].closed);
    EXPECT_EQ(out.nodes[0].others, (HostAsk{500, mebibytes(7)}));
    EXPECT_EQ(out.nodes[0].cards.size(), 2U);
    ASSERT_EQ(out.pods.size(), 2U);
    EXPECT_EQ(out.pods[0].node, "n");
    EXPECT_EQ(out.pods[0].holds,
              (std::vector<SnapshotHolder>{{ContainerKind::app, {{1, gibibytes(4), {}, false}}}}));
    EXPECT_EQ(out.pods[0].asks[0].memory, (MemoryAsk{MemoryAsk::Kind::bytes, gibibytes(4).count}));
    EXPECT_EQ(out.pods[1].name.name, "waits");
    EXPECT_TRUE(out.pods[1].node.empty());
    EXPECT_TRUE(out.pods[1].chooses_nodes);
    EXPECT_EQ(out.left_out, SnapshotLeftOut{.faulty = 1});
}

// Goal: who reads of a cluster's pods reads how many are not among them, and why.
TEST(ClusterSnapshot, CountsWhoIsLeftOut) {
    const NodeInventory node = build::node("n", 1, gibibytes(16));
    std::vector<SeenPod> pods;
    const auto add = [&](const char* name, const auto& change) {
        pods.push_back({build::pod(name, build::whole()), "", false});
        change(pods.back().facts);
    };
    add("waits", [](PodFacts&) {});
    EXPECT_EQ(left_out_text(snapshot_of(std::vector<SeenNode>{{node, false}}, pods).left_out), "");
    add("gated", [](PodFacts& pod) { pod.gated = true; });
    add("gated too", [](PodFacts& pod) { pod.gated = true; });
    add("ending", [](PodFacts& pod) { pod.terminating = true; });
    add("elsewhere", [](PodFacts& pod) { pod.node = NodeName("gone"); });
    add("done", [](PodFacts& pod) { pod.finished = true; });
    const ClusterSnapshot out = snapshot_of(std::vector<SeenNode>{{node, false}}, pods);
    EXPECT_EQ(out.pods.size(), 1U);
    EXPECT_EQ(out.left_out, (SnapshotLeftOut{.gated = 2, .ending = 1, .unknown = 1}));
    EXPECT_EQ(left_out_text(out.left_out),
              "4 pods with GPUs are left out: 2 with scheduling gates, 1 ending, 1 on a node, and "
              "nobody can tell on which cards");
    EXPECT_EQ(left_out_text({.faulty = 1}),
              "1 pod with GPUs is left out: 1 with a request that makes no sense");
    EXPECT_EQ(anonymous(out).left_out, out.left_out);
}

// Goal: rules go along; where they have come to make no sense, a pod that runs still holds its
// cards, and one that waits is placed by nobody.
TEST(ClusterSnapshot, RulesOnCards) {
    const NodeInventory node = build::node("n", 1, gibibytes(16));
    std::vector<SeenPod> pods;
    pods.push_back({build::pod("waits", build::native(gibibytes(4))), "", false});
    pods.back().facts.card_rules = {"A100", "!" + node.gpus[0].uuid.str(), "a", "t"};
    for (const char* name : {"runs", "nonsense"}) {
        pods.push_back({build::pod(name, build::native(gibibytes(4))), "", false});
        pods.back().facts.card_rules.models = ",";
    }
    pods[1].facts = on(std::move(pods[1].facts), node, 0, gibibytes(4));
    const ClusterSnapshot out = snapshot_of(std::vector<SeenNode>{{node, false}}, pods);
    EXPECT_EQ(out.nodes[0].cards[0].uuid, node.gpus[0].uuid);
    ASSERT_EQ(out.pods.size(), 2U);
    EXPECT_EQ(out.pods[0].card_rules, pods[0].facts.card_rules);
    EXPECT_EQ(out.pods[1].name.name, "runs");
    EXPECT_EQ(out.pods[1].card_rules, CardRuleTexts{});
    EXPECT_EQ(out.pods[1].holds.size(), 1U);
}

// Goal: which cards are linked is told by their places in the list, which the driver's numbers are
// not where a card is missing.
TEST(ClusterSnapshot, LinksBetweenCards) {
    NodeInventory node = build::node("n", 3, gibibytes(16));
    for (std::size_t place = 0; place < 3; ++place)
        node.gpus[place].index = static_cast<int>(place) + (place > 0 ? 1 : 0);  // 0, 2, 3
    node.gpus[0].links = {.numa = 1, .pcie = 0b0010, .nvlink = 0b1101};          // itself, too
    node.gpus[2].links.nvlink = 0b0001;
    const ClusterSnapshot out = snapshot_of(std::vector<SeenNode>{{node, false}}, {});
    EXPECT_EQ(out.nodes[0].cards[0].links, (CardLinks{.numa = 1, .pcie = 0, .nvlink = 0b110}));
    EXPECT_EQ(out.nodes[0].cards[1].links, CardLinks{});
    EXPECT_EQ(out.nodes[0].cards[2].links, (CardLinks{.nvlink = 0b001}));
    EXPECT_TRUE(out.tells_links);
}

// Goal: no share is told as larger than its card, and a whole one as all of it, where more of the
// card is reserved than when it was given.
TEST(ClusterSnapshot, SharesArePartsOfTheirCards) {
    NodeInventory node = build::node("n", 2, gibibytes(16));
    std::vector<SeenPod> pods;
    pods.push_back(
        {on(build::pod("part", build::native(gibibytes(16))), node, 0, gibibytes(16)), "", false});
    PodFacts whole = build::pod("whole", build::whole());
    auto allocation = build::allocation(whole, "n", {{node.gpus[1].uuid, 1, gibibytes(16), {}}});
    allocation.containers[0].gpus[0].whole = true;
    pods.push_back({build::bound(std::move(whole), allocation), "", false});
    for (Gpu& gpu : node.gpus)
        gpu.reserved = gibibytes(1);
    const ClusterSnapshot out = snapshot_of(std::vector<SeenNode>{{node, false}}, pods);
    ASSERT_EQ(out.pods.size(), 2U);
    EXPECT_EQ(out.nodes[0].cards[0].memory, gibibytes(15));
    for (const SnapshotPod& pod : out.pods)
        EXPECT_EQ(pod.holds.at(0).shares.at(0).memory, gibibytes(15)) << pod.name.name;
}

// Goal: no name stays, and what had the same name has the same number.
TEST(ClusterSnapshot, Anonymous) {
    ClusterSnapshot snapshot;
    snapshot.nodes = {{.name = "a.secret"}, {.name = "b.secret"}};
    snapshot.pods = {{.name = {"team", "x"}, .node = "b.secret", .gang = GangMembership{"g", 2}},
                     {.name = {"team", "y"}, .node = "", .gang = GangMembership{"g", 2}},
                     {.name = {"other", "x"}, .node = "a.secret", .gang = GangMembership{"g", 2}}};
    const ClusterSnapshot out = anonymous(snapshot);
    EXPECT_EQ(out.nodes[1].name, "node-2");
    EXPECT_EQ(out.pods[0].node, "node-2");
    EXPECT_EQ(out.pods[0].name, (PodName{"space-1", "pod-1"}));
    EXPECT_EQ(out.pods[1].node, "");
    EXPECT_EQ(out.pods[2].name, (PodName{"space-2", "pod-3"}));
    EXPECT_EQ(out.pods[0].gang->gang, out.pods[1].gang->gang);
    EXPECT_NE(out.pods[0].gang->gang, out.pods[2].gang->gang);
}

TEST(ClusterSnapshot, AnonymousRules) {
    ClusterSnapshot snapshot;
    snapshot.nodes = {{.name = "n",
                       .cards = {{.model = "T4", .uuid = GpuUuid("GPU-a")},
                                 {.model = "T4", .uuid = GpuUuid("GPU-b")}}}};
    snapshot.pods = {{.name = {"s", "x"}, .card_rules = {"T4", "!GPU-b,GPU-z", "g", ""}},
                     {.name = {"s", "y"}, .card_rules = {"", "", "g", ""}},
                     {.name = {"o", "z"}, .card_rules = {"", "", "", "g"}}};
    const ClusterSnapshot out = anonymous(snapshot);
    EXPECT_EQ(out.nodes[0].cards[1].uuid, GpuUuid("card-2"));
    EXPECT_EQ(out.pods[0].card_rules, (CardRuleTexts{"T4", "card-3, !card-2", "group-1", ""}));
    EXPECT_EQ(out.pods[1].card_rules.apart, "group-1");
    EXPECT_EQ(out.pods[2].card_rules, (CardRuleTexts{"", "", "", "group-2"}));
}

}  // namespace
}  // namespace tessera

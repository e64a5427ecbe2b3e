#include "app/scheduler/explain.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/scheduler/node_choice.hpp"
#include "app/scheduler/placements.hpp"
#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Nodes of two cards of 16 GiB; pod "there" of 4 GiB on n1.
class ExplainPod : public testing::Test {
  protected:
    ExplainPod() {
        for (const char* name : {"n0", "n1", "n2"}) {
            NodeInventory node = build::node(name, 2, gibibytes(16));
            node.host = {.cpu_milli = 8'000, .memory = gibibytes(64)};
            snapshot_.nodes.push_back(node);
            snapshot_.traits.push_back(
                {.name = NodeName(name),
                 .labels = {{std::string(defrag::kNameField), name}, {"zone", name}}});
        }
        const PodFacts there = build::pod("there", build::native(gibibytes(4)));
        const Gpu card = build::gpu("n1", 0, gibibytes(16));
        put(build::bound(
            there, build::allocation(there, "n1", {{.uuid = card.uuid, .memory = gibibytes(4)}})));
    }

    void put(const PodFacts& pod) {
        snapshot_.pods.push_back(pod);
        snapshot_.states.push_back({.uid = pod.uid, .name = pod.name, .node = pod.node});
    }
    PodStory explain(const std::string& pod, const std::string& policy = "binpack") {
        auto story = explain_pod(snapshot_, {"default", pod}, policy);
        EXPECT_TRUE(story) << story.error().text;
        return story ? *std::move(story) : PodStory{};
    }
    static std::vector<std::string> names(const PodStory& story) {
        std::vector<std::string> out;
        for (const NodeStory& node : story.nodes)
            out.push_back(node.node.str() + (node.fits ? "" : ": " + node.why));
        return out;
    }

    defrag::Snapshot snapshot_;
};

// Goal: who asks why his pod is on any card reads of the annotation that nobody read.
TEST_F(ExplainPod, TellsOfSlips) {
    PodFacts pod = build::pod("waits", build::native(gibibytes(8)));
    pod.slips = {"annotation tessera.dev/gpu-model is not known"};
    put(pod);
    EXPECT_EQ(explain("waits").slips, pod.slips);
    EXPECT_TRUE(explain("there").slips.empty());
}

// Goal: the nodes come in the order of the policy, with what the score is made of and the cards.
TEST_F(ExplainPod, TellsWhereAPodWouldGo) {
    put(build::pod("waits", build::native(gibibytes(8))));
    const PodStory story = explain("waits");
    EXPECT_EQ(names(story), (std::vector<std::string>{"n1", "n0", "n2"}));
    EXPECT_TRUE(story.on.empty());
    ASSERT_EQ(story.nodes[0].cards.size(), 1U);
    EXPECT_EQ(story.nodes[0].cards[0],
              (CardStory{GpuUuid("GPU-n1-0"), 0, story.nodes[0].cards[0].model, gibibytes(12)}));
    EXPECT_EQ(story.nodes[0].score, -gibibytes(4).count);
    const PodStory spread = explain("waits", "spread");
    EXPECT_EQ(names(spread), (std::vector<std::string>{"n0", "n1", "n2"}));
    EXPECT_EQ(spread.nodes[1].cards[0].index, 1);
    const PodStory fgd = explain("waits", "fgd");
    ASSERT_EQ(fgd.nodes[0].terms.size(), 2U);
    EXPECT_EQ(fgd.nodes[0].terms[0].name, "fragmentation before");
    EXPECT_EQ(fgd.learnt, 2U);
    EXPECT_TRUE(fgd.learns) << "what is fragmented is so for the pods that come";
    EXPECT_TRUE(explain("waits", "expected-fill").learns);
    EXPECT_FALSE(spread.learns);
    EXPECT_FALSE(story.learns);
}

// Goal: each other node has its reason: the scheduler's words, and what kube-scheduler itself
// looks at.
TEST_F(ExplainPod, TellsWhyNotElsewhere) {
    PodFacts pod = build::pod("waits", build::native(gibibytes(14)));
    pod.host.cpu_milli = 6'000;
    put(pod);
    snapshot_.states.back().nodes.selector = {
        {.kind = defrag::LabelTerm::Kind::not_in, .key = "zone", .values = {"n0"}}};
    snapshot_.traits[2].closed = true;
    PodFacts greedy = build::pod("greedy", {});
    greedy.node = NodeName("n1");
    greedy.host.cpu_milli = 3'000;
    snapshot_.others.push_back(greedy);
    const auto lines = names(explain("waits"));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_NE(lines[0].find("n0: kube-scheduler's own: the pod's node selector"),
              std::string::npos);
    EXPECT_EQ(lines[1], "n1: kube-scheduler's own: asked 6000m CPU, 5000m are free");
    EXPECT_EQ(lines[2], "n2: kube-scheduler's own: the node is cordoned");
    snapshot_.others.clear();
    put(build::pod("large", build::native(gibibytes(17))));
    EXPECT_EQ(names(explain("large"))[0],
              "n0: Insufficient GPU Memory in one device: asked 17Gi, the largest of 2 cards has "
              "16Gi, 0 are large enough");
}

// Goal: of a pod that is placed: what would be if it came now, its own share being free.
TEST_F(ExplainPod, AsThoughItWereNotPlacedYet) {
    const PodStory story = explain("there", "expected-fill");
    EXPECT_EQ(story.on, NodeName("n1"));
    EXPECT_EQ(names(story), (std::vector<std::string>{"n0", "n1", "n2"}));
    for (const NodeStory& node : story.nodes)
        EXPECT_EQ(node.cards[0].free, gibibytes(16));
}

// Goal: the story's first node is the one that filter chooses.
TEST_F(ExplainPod, AgreesWithFilter) {
    put(build::pod("waits", build::native(gibibytes(8), 2)));
    for (const FleetPolicyRow& row : fleet_policies()) {
        if (row.is_simulated_only) continue;
        const PodStory story = explain("waits", std::string(row.name));
        ClusterState state;
        for (const NodeInventory& node : snapshot_.nodes)
            state.set_node(node);
        for (const PodFacts& pod : snapshot_.pods)
            state.set_pod(pod);
        Placements placements(row.name);
        placements.learn(state.take_arrivals(), *state.view());
        const PodAsk pod = build::ask(snapshot_.pods.back());
        ExtenderArgs args;
        args.pod = snapshot_.pods.back();
        args.names = {"n0", "n1", "n2"};
        const auto answer =
            choose_nodes(*state.view(), args, pod, placements.rater_of(pod).get(), 1);
        ASSERT_EQ(answer.fitting.size(), 1U);
        EXPECT_EQ(story.nodes[0].node.str(), args.names[answer.fitting[0]]) << row.name;
    }
}

// Goal: of a pod of a gang one reads what the gang as a whole finds, which its own room does not
// tell: whether all are there, who does not count, and whether all find room at once where
// kube-scheduler lets them run.
TEST_F(ExplainPod, TellsWhatItsGangFinds) {
    const auto put_member = [&](int number, int size) {
        PodFacts pod = build::pod(fmt::format("g-{}", number), build::native(gibibytes(9)));
        pod.gang = GangMembership{"g", size};
        put(pod);
    };
    const auto gang_of = [&](const char* pod) { return explain(pod).gang; };
    for (int i = 0; i < 5; ++i)
        put_member(i, 6);
    EXPECT_EQ(gang_of("g-0"),
              "It is of gang g: 5 pods there (0 placed), and 6 are placed together or not at all. "
              "It waits for 1 more. What follows is of this pod alone.");
    put_member(5, 6);
    EXPECT_NE(gang_of("g-0").find("All 6 find room at once now."), std::string::npos);
    snapshot_.traits[2].closed = true;
    EXPECT_NE(
        gang_of("g-0").find("As a whole it does not fit now: 4 of 6 find room, g-4 does not."),
        std::string::npos)
        << gang_of("g-0");
    snapshot_.pods.back().gated = true;
    EXPECT_NE(gang_of("g-0").find("together or not at all; g-5 does not count: it has scheduling "
                                  "gates. It waits for 1 more."),
              std::string::npos)
        << gang_of("g-0");
    EXPECT_TRUE(gang_of("there").empty());
}

TEST_F(ExplainPod, TellsWhatItsPodGroupAsks) {
    for (int i = 0; i < 2; ++i) {
        PodFacts pod = build::pod(fmt::format("g-{}", i), build::native(gibibytes(9)));
        pod.gang = GangMembership{"g", 0};
        put(pod);
    }
    const auto gang = [&] { return explain("g-0").gang; };
    EXPECT_NE(gang().find("waits for a PodGroup of that name"), std::string::npos) << gang();
    snapshot_.pod_groups = {{{"default", "g"}, 3}};
    EXPECT_NE(gang().find("3 are placed together or not at all. It waits for 1 more."),
              std::string::npos)
        << gang();
    snapshot_.pod_groups = {{{"default", "g"}, 0}};
    EXPECT_TRUE(gang().empty()) << gang();
}

TEST_F(ExplainPod, RefusesWhatItCannotTell) {
    EXPECT_EQ(explain_pod(snapshot_, {"default", "none"}, "binpack").error().code, Code::not_found);
    EXPECT_NE(explain_pod(snapshot_, {"default", "there"}, "magic").error().text.find("binpack"),
              std::string::npos);
    snapshot_.pods[0].finished = true;
    EXPECT_EQ(explain_pod(snapshot_, {"default", "there"}, "binpack").error().code, Code::conflict);
}

// Goal: what is free on a card is what nominees that come before the pod leave to it, and so is the
// best fit's score; those behind it take nothing. By a policy the nominees decide where it fits,
// and neither the score nor what that is made of is different for them.
TEST_F(ExplainPod, CountsTheNomineesThatComeBefore) {
    const PodFacts waits = build::pod("waits", build::native(gibibytes(4)));
    put(waits);
    const PodStory without = explain("waits", "best-fit");
    PodFacts nominee = build::pod("nominee", build::native(gibibytes(6)));
    nominee.nominated = NodeName("n1");
    for (const int priority : {5, -5}) {
        nominee.priority = priority;
        snapshot_.pods.resize(2);
        snapshot_.states.resize(2);
        put(nominee);
        const Bytes left = gibibytes(priority > 0 ? 12 - 6 : 12);
        const PodStory story = explain("waits");
        EXPECT_EQ(story.nodes[0].node, NodeName("n1"));
        ASSERT_EQ(story.nodes[0].cards.size(), 1U);
        EXPECT_EQ(story.nodes[0].cards[0].free, left);
        EXPECT_EQ(story.nodes[0].score, -(left - gibibytes(4)).count);
        const PodStory rated = explain("waits", "best-fit");
        EXPECT_EQ(rated.nodes[0].score, without.nodes[0].score);
        EXPECT_EQ(rated.nodes[0].terms, without.nodes[0].terms);
    }
}

// Goal: the cards that are told are those that bind gives, where it does not follow the policy for
// the sake of one behind the pod as well.
TEST_F(ExplainPod, LeavesWhatIsKeptForOthers) {
    NodeInventory node = build::node("linked", 3, gibibytes(80));
    node.gpus[0].links.nvlink = 0b010;
    node.gpus[1].links.nvlink = 0b001;
    snapshot_.nodes = {node};
    snapshot_.traits = {{.name = node.name}};
    PodFacts holder = build::pod("holder", build::native(gibibytes(40)));
    put(build::bound(
        holder,
        build::allocation(holder, "linked",
                          {{.uuid = node.gpus[2].uuid, .index = 2, .memory = gibibytes(40)}})));
    PodFacts waits = build::pod("a-waits", build::native(gibibytes(10)));
    PodFacts behind = build::pod("behind", build::whole(2));
    behind.card_rules.links = "nvlink";
    for (PodFacts* pod : {&waits, &behind}) {
        pod->nominated = node.name;
        put(*pod);
    }
    const PodStory story = explain("a-waits", "spread");
    ASSERT_EQ(story.nodes.size(), 1U);
    ASSERT_EQ(story.nodes.front().cards.size(), 1U);
    EXPECT_EQ(story.nodes.front().cards.front().index, 2);
}

}  // namespace
}  // namespace tessera

#include "app/explain/explain.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/scheduler/filter/node_choice.hpp"
#include "app/scheduler/scoring/policy_set.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Nodes of two GPUs of 16 GiB; pod "there" of 4 GiB on n1.
class ExplainPod : public testing::Test {
  protected:
    ExplainPod() {
        for (const char* name : {"n0", "n1", "n2"}) {
            NodeInventory node = build::node(name, 2, gibibytes(16));
            node.host = {.cpu_milli = 8'000, .memory = gibibytes(64)};
            objects_.nodes.push_back(node);
            objects_.traits.push_back(
                {.name = NodeName(name),
                 .labels = {{std::string(kNameField), name}, {"zone", name}}});
        }
        const PodInfo there = build::pod("there", build::native(gibibytes(4)));
        const Gpu gpu = build::gpu("n1", 0, gibibytes(16));
        put(build::bound(
            there, build::allocation(there, "n1", {{.uuid = gpu.uuid, .memory = gibibytes(4)}})));
    }

    void put(const PodInfo& pod) {
        objects_.pods.push_back(pod);
        objects_.states.push_back({.uid = pod.uid, .name = pod.name, .node = pod.node});
    }
    PodExplanation explain(const std::string& pod, const std::string& policy = "binpack") {
        auto explanation = explain_pod(objects_, {"default", pod}, policy);
        EXPECT_TRUE(explanation) << explanation.error().text;
        return explanation ? *std::move(explanation) : PodExplanation{};
    }
    static std::vector<std::string> names(const PodExplanation& explanation) {
        std::vector<std::string> out;
        for (const NodeExplanation& node : explanation.nodes)
            out.push_back(node.node.str() + (node.fits ? "" : ": " + node.why));
        return out;
    }

    defrag::ClusterObjects objects_;
};

// Goal: the explanation also shows the pod's annotations that Tessera does not know.
TEST_F(ExplainPod, ReportsUnknownAnnotations) {
    PodInfo pod = build::pod("waits", build::native(gibibytes(8)));
    pod.unknown_annotations = {"annotation tessera.dev/gpu-model is not known"};
    put(pod);
    EXPECT_EQ(explain("waits").unknown_annotations, pod.unknown_annotations);
    EXPECT_TRUE(explain("there").unknown_annotations.empty());
}

// Goal: the nodes come in the order of the policy, with the terms of the score and the GPUs.
TEST_F(ExplainPod, TellsWhereAPodWouldGo) {
    put(build::pod("waits", build::native(gibibytes(8))));
    const PodExplanation explanation = explain("waits");
    EXPECT_EQ(names(explanation), (std::vector<std::string>{"n1", "n0", "n2"}));
    EXPECT_TRUE(explanation.on.empty());
    ASSERT_EQ(explanation.nodes[0].gpus.size(), 1U);
    EXPECT_EQ(explanation.nodes[0].gpus[0],
              (GpuExplanation{GpuUuid("GPU-n1-0"), 0, explanation.nodes[0].gpus[0].model,
                              gibibytes(12)}));
    EXPECT_EQ(explanation.nodes[0].score, -gibibytes(4).count);
    const PodExplanation spread = explain("waits", "spread");
    EXPECT_EQ(names(spread), (std::vector<std::string>{"n0", "n1", "n2"}));
    EXPECT_EQ(spread.nodes[1].gpus[0].index, 1);
    const PodExplanation fgd = explain("waits", "fgd");
    ASSERT_EQ(fgd.nodes[0].terms.size(), 2U);
    EXPECT_EQ(fgd.nodes[0].terms[0].name, "fragmentation before");
    EXPECT_EQ(fgd.learnt, 2U);
    EXPECT_TRUE(fgd.learns) << "fragmentation depends on the pods that arrive";
    EXPECT_TRUE(explain("waits", "expected-fill").learns);
    EXPECT_FALSE(spread.learns);
    EXPECT_FALSE(explanation.learns);
}

// Goal: each other node has its reason: the scheduler's words, or a check of kube-scheduler's own.
TEST_F(ExplainPod, TellsWhyNotElsewhere) {
    PodInfo pod = build::pod("waits", build::native(gibibytes(14)));
    pod.host.cpu_milli = 6'000;
    put(pod);
    objects_.states.back().nodes.selector = {
        {.kind = LabelTerm::Kind::not_in, .key = "zone", .values = {"n0"}}};
    objects_.traits[2].closed = true;
    PodInfo greedy = build::pod("greedy", {});
    greedy.node = NodeName("n1");
    greedy.host.cpu_milli = 3'000;
    objects_.others.push_back(greedy);
    const auto lines = names(explain("waits"));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_NE(lines[0].find("n0: kube-scheduler's own: the pod's node selector"),
              std::string::npos);
    EXPECT_EQ(lines[1], "n1: kube-scheduler's own: asked 6000m CPU, 5000m are free");
    EXPECT_EQ(lines[2], "n2: kube-scheduler's own: the node is cordoned");
    objects_.others.clear();
    put(build::pod("large", build::native(gibibytes(17))));
    EXPECT_EQ(names(explain("large"))[0],
              "n0: Insufficient GPU Memory in one device: asked 17Gi, the largest of 2 GPUs has "
              "16Gi, 0 are large enough");
}

// Goal: a placed pod is explained as if it arrived now, with its own share free.
TEST_F(ExplainPod, AsThoughItWereNotPlacedYet) {
    const PodExplanation explanation = explain("there", "expected-fill");
    EXPECT_EQ(explanation.on, NodeName("n1"));
    EXPECT_EQ(names(explanation), (std::vector<std::string>{"n0", "n1", "n2"}));
    for (const NodeExplanation& node : explanation.nodes)
        EXPECT_EQ(node.gpus[0].free, gibibytes(16));
}

// Goal: the first node of the explanation is the one that filter chooses.
TEST_F(ExplainPod, AgreesWithFilter) {
    put(build::pod("waits", build::native(gibibytes(8), 2)));
    for (const PlacementPolicyRow& row : placement_policies()) {
        if (row.is_simulated_only) continue;
        const PodExplanation explanation = explain("waits", std::string(row.name));
        ClusterState state;
        for (const NodeInventory& node : objects_.nodes)
            state.set_node(node);
        for (const PodInfo& pod : objects_.pods)
            state.set_pod(pod);
        PolicySet policies(row.name);
        policies.learn(state.take_arrivals(), *state.snapshot());
        const PodRequest pod = build::request(objects_.pods.back());
        ExtenderArgs args;
        args.pod = objects_.pods.back();
        args.names = {"n0", "n1", "n2"};
        const auto answer =
            choose_nodes(*state.snapshot(), args, pod, policies.scorer_of(pod).get(), 1);
        ASSERT_EQ(answer.fitting.size(), 1U);
        EXPECT_EQ(explanation.nodes[0].node.str(), args.names[answer.fitting[0]]) << row.name;
    }
}

// Goal: for a pod of a gang, the explanation says what the gang as a whole finds, because the pod's
// own node does not show it. It says whether all pods are there, which do not count, and whether
// all fit at once on nodes where kube-scheduler lets them run.
TEST_F(ExplainPod, TellsWhatItsGangFinds) {
    const auto put_member = [&](int number, int size) {
        PodInfo pod = build::pod(fmt::format("g-{}", number), build::native(gibibytes(9)));
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
    objects_.traits[2].closed = true;
    EXPECT_NE(
        gang_of("g-0").find("As a whole it does not fit now: 4 of 6 find room, g-4 does not."),
        std::string::npos)
        << gang_of("g-0");
    objects_.pods.back().gated = true;
    EXPECT_NE(gang_of("g-0").find("together or not at all; g-5 does not count: it has scheduling "
                                  "gates. It waits for 1 more."),
              std::string::npos)
        << gang_of("g-0");
    EXPECT_TRUE(gang_of("there").empty());
}

TEST_F(ExplainPod, TellsWhatItsPodGroupAsks) {
    for (int i = 0; i < 2; ++i) {
        PodInfo pod = build::pod(fmt::format("g-{}", i), build::native(gibibytes(9)));
        pod.gang = GangMembership{"g", 0};
        put(pod);
    }
    const auto gang = [&] { return explain("g-0").gang; };
    EXPECT_NE(gang().find("waits for a PodGroup of that name"), std::string::npos) << gang();
    objects_.pod_groups = {{{"default", "g"}, 3}};
    EXPECT_NE(gang().find("3 are placed together or not at all. It waits for 1 more."),
              std::string::npos)
        << gang();
    objects_.pod_groups = {{{"default", "g"}, 0}};
    EXPECT_TRUE(gang().empty()) << gang();
}

// Goal: a pod that requests no GPU of Tessera is not reported as missing, and its user learns what
// to write. Method: one pod with another product's resource, one without any.
TEST_F(ExplainPod, OfAPodWithoutTesserasResources) {
    objects_.others = {build::pod("web", {}), build::pod("other", {})};
    objects_.scheduling[objects_.others[1].uid] = {.foreign_requests = {"nvidia.com/gpu"}};
    const std::string fix =
        "no GPU of Tessera; to request one, create it again with tessera.dev/gpu-share: 1 and "
        "tessera.dev/gpu-memory, such as 3Gi, in the limits of a container, or with "
        "tessera.dev/gpu: 1 for a whole GPU";
    for (const auto& [name, requested] : std::vector<std::pair<std::string, std::string>>{
             {"web", ""}, {"other", "nvidia.com/gpu, which Tessera does not assign, and "}}) {
        const auto explanation = explain_pod(objects_, {"default", name}, "binpack");
        ASSERT_FALSE(explanation);
        EXPECT_EQ(explanation.error().code, Code::conflict);
        EXPECT_EQ(explanation.error().text,
                  fmt::format("pod default/{} requests {}{}", name, requested, fix));
    }
}

TEST_F(ExplainPod, RefusesWhatItCannotTell) {
    EXPECT_EQ(explain_pod(objects_, {"default", "none"}, "binpack").error().code, Code::not_found);
    EXPECT_NE(explain_pod(objects_, {"default", "there"}, "magic").error().text.find("binpack"),
              std::string::npos);
    objects_.pods[0].finished = true;
    EXPECT_EQ(explain_pod(objects_, {"default", "there"}, "binpack").error().code, Code::conflict);
}

// Goal: the free memory of a GPU is what nominees that come before the pod leave of it, and so is
// the best fit's score. Nominees behind it take nothing. With a policy, the nominees decide where
// the pod fits, and change neither the score nor its terms.
TEST_F(ExplainPod, CountsTheNomineesThatComeBefore) {
    const PodInfo waits = build::pod("waits", build::native(gibibytes(4)));
    put(waits);
    const PodExplanation without = explain("waits", "best-fit");
    PodInfo nominee = build::pod("nominee", build::native(gibibytes(6)));
    nominee.nominated = NodeName("n1");
    for (const int priority : {5, -5}) {
        nominee.priority = priority;
        objects_.pods.resize(2);
        objects_.states.resize(2);
        put(nominee);
        const Bytes left = gibibytes(priority > 0 ? 12 - 6 : 12);
        const PodExplanation explanation = explain("waits");
        EXPECT_EQ(explanation.nodes[0].node, NodeName("n1"));
        ASSERT_EQ(explanation.nodes[0].gpus.size(), 1U);
        EXPECT_EQ(explanation.nodes[0].gpus[0].free, left);
        EXPECT_EQ(explanation.nodes[0].score, -(left - gibibytes(4)).count);
        const PodExplanation scored = explain("waits", "best-fit");
        EXPECT_EQ(scored.nodes[0].score, without.nodes[0].score);
        EXPECT_EQ(scored.nodes[0].terms, without.nodes[0].terms);
    }
}

// Goal: the explanation shows the GPUs that bind gives. That also holds if bind does not follow the
// policy because GPUs are reserved for a pod behind this one.
TEST_F(ExplainPod, LeavesWhatIsKeptForOthers) {
    NodeInventory node = build::node("linked", 3, gibibytes(80));
    node.gpus[0].links.nvlink = 0b010;
    node.gpus[1].links.nvlink = 0b001;
    objects_.nodes = {node};
    objects_.traits = {{.name = node.name}};
    PodInfo holder = build::pod("holder", build::native(gibibytes(40)));
    put(build::bound(
        holder,
        build::allocation(holder, "linked",
                          {{.uuid = node.gpus[2].uuid, .index = 2, .memory = gibibytes(40)}})));
    PodInfo waits = build::pod("a-waits", build::native(gibibytes(10)));
    PodInfo behind = build::pod("behind", build::whole(2));
    behind.gpu_rules.topology = "nvlink";
    for (PodInfo* pod : {&waits, &behind}) {
        pod->nominated = node.name;
        put(*pod);
    }
    const PodExplanation explanation = explain("a-waits", "spread");
    ASSERT_EQ(explanation.nodes.size(), 1U);
    ASSERT_EQ(explanation.nodes.front().gpus.size(), 1U);
    EXPECT_EQ(explanation.nodes.front().gpus.front().index, 2);
}

}  // namespace
}  // namespace tessera

#include "wire/kube/defrag_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

JsonDocument parsed(std::string_view text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return *std::move(document);
}

TEST(DefragJson, ReadsAPod) {
    const auto document = parsed(R"({
      "metadata": {"uid": "u", "name": "p", "namespace": "s", "labels": {"app": "web"},
        "annotations": {"tessera.dev/movable": "true"},
        "ownerReferences": [{"kind": "X", "name": "x", "uid": "x"},
          {"kind": "ReplicaSet", "name": "web", "uid": "r", "controller": true}]},
      "spec": {"nodeName": "n"}, "status": {"phase": "Running"}})");
    const defrag::PodState pod = read_pod_state(document.root());
    EXPECT_EQ(pod.uid, PodUid("u"));
    EXPECT_EQ(pod.name, (PodName{"s", "p"}));
    EXPECT_EQ(pod.node, NodeName("n"));
    EXPECT_EQ(pod.labels.at("app"), "web");
    EXPECT_EQ(pod.owner, (defrag::Owner{"ReplicaSet", "web", "r"}));
    EXPECT_EQ(defrag::why_it_stays(pod, {}), std::nullopt);
}

TEST(DefragJson, ReadsTheScheduling) {
    const auto document = parsed(R"({
      "spec": {"schedulerName": "volcano",
        "initContainers": [{"resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}],
        "containers": [{"resources": {"requests": {"nvidia.com/gpu": "1", "cpu": "1"},
          "limits": {"tessera.dev/gpu": "1", "volcano.sh/gpu-memory": "0"}}}]},
      "status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}})");
    const defrag::PodScheduling pod = read_pod_scheduling(document.root());
    EXPECT_EQ(pod.scheduler, "volcano");
    EXPECT_TRUE(pod.is_reported);
    EXPECT_EQ(pod.foreign_requests,
              (std::set<std::string>{"nvidia.com/gpu", "nvidia.com/mig-1g.5gb"}));
    const auto created = parsed(R"({"status": {"conditions": [{"type": "Ready"}]}})");
    EXPECT_FALSE(read_pod_scheduling(created.root()).is_reported);
}

// Goal: only an exact value counts: no pod is moved for a word that looks like "true".
TEST(DefragJson, PodsThatStay) {
    for (const char* text :
         {"{}", R"({"metadata": {"annotations": {"tessera.dev/movable": "yes"}}})",
          R"({"metadata": {"annotations": {"tessera.dev/movable": true}}})",
          R"({"metadata": {"annotations": {"tessera.dev/movable": "true"}}})",
          R"({"metadata": {"annotations": {"tessera.dev/movable": "true"},
              "ownerReferences": [{"kind": "ReplicaSet", "controller": false}]}})",
          R"({"metadata": {"annotations": {"tessera.dev/movable": "true",
                "kubernetes.io/config.mirror": ""},
              "ownerReferences": [{"kind": "ReplicaSet", "controller": true}]}})"}) {
        const auto document = parsed(text);
        EXPECT_NE(defrag::why_it_stays(read_pod_state(document.root()), {}), std::nullopt) << text;
    }
}

// Goal: a budget that cannot be understood allows nothing. Method: a table of budgets over a pod
// with the label app=web.
TEST(DefragJson, Budgets) {
    struct Case {
        const char* spec;
        const char* status;
        bool covers;
        std::int64_t allowed;
    };
    const defrag::PodState pod{.name = {"s", "p"}, .labels = {{"app", "web"}}};
    for (const Case& c : {
             Case{R"({"selector": {"matchLabels": {"app": "web"}}})",
                  R"({"disruptionsAllowed": 2, "observedGeneration": 1})", true, 2},
             Case{R"({"selector": {"matchLabels": {"app": "db"}}})",
                  R"({"disruptionsAllowed": 2, "observedGeneration": 1})", false, 2},
             Case{R"({"selector": {}})", R"({"disruptionsAllowed": 2})", true, 0},
             Case{R"({"selector": {"matchExpressions":
                     [{"key": "app", "operator": "NotIn", "values": ["web"]}]}})",
                  R"({"observedGeneration": 1})", false, 0},
             Case{R"({"selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}})",
                  R"({"disruptionsAllowed": 2, "observedGeneration": 1})", true, 2},
             Case{R"({"selector": {"matchLabels": {"app": 7}}})", "{}", true, 0},
             Case{"{}", "{}", true, 0},
         }) {
        const auto document = parsed(
            std::string(R"({"metadata": {"name": "b", "namespace": "s",)") +
            R"("generation": 1},)" + R"("spec": )" + c.spec + R"(, "status": )" + c.status + "}");
        const defrag::Budget budget = read_budget(document.root());
        EXPECT_EQ(defrag::covers(budget, pod), c.covers) << c.spec;
        EXPECT_EQ(budget.allowed, c.allowed) << c.spec;
    }
}

TEST(DefragJson, SaysWhichBudgetRefuses) {
    EXPECT_EQ(eviction_refusal(R"({"message": "Cannot evict pod.", "details": {"causes": [
                  {"reason": "DisruptionBudget",
                   "message": "The disruption budget b needs 3"}]}})"),
              "Cannot evict pod. The disruption budget b needs 3");
    EXPECT_EQ(eviction_refusal("no JSON"), "no JSON");
}

}  // namespace
}  // namespace tessera

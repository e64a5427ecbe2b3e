#include "wire/kube/node_rules_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

JsonDocument parsed(std::string_view text) {
    auto document = JsonDocument::parse(text);
    EXPECT_TRUE(document) << text;
    return *std::move(document);
}

// Goal: a pod goes only where its own rules let it. Method: a table of specs, over a node with a
// label and a taint.
TEST(NodeRulesJson, WhereAPodMayRun) {
    const auto document = parsed(R"({"metadata": {"name": "n", "labels": {"gpu": "a100"}},
        "spec": {"taints": [{"key": "gpu", "value": "only", "effect": "NoSchedule"}]}})");
    const NodeTraits node = read_node_traits(document.root());
    EXPECT_FALSE(node.closed);
    EXPECT_TRUE(read_node_traits(parsed(R"({"spec": {"unschedulable": true}})").root()).closed);
    struct Case {
        const char* spec;
        bool runs;
    };
    const auto affinity = [](const std::string& terms) {
        return R"("affinity": {"nodeAffinity": {)"
               R"("requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": )" +
               terms + "}}}";
    };
    const auto runs = [&](const std::string& spec) {
        const auto pod = parsed(
            R"({"spec": {"tolerations": [{"key": "gpu", "operator": "Exists"}], )" + spec + "}}");
        return may_run(read_node_rules(pod.root()["spec"]), node);
    };
    for (const Case& c : {Case{R"("nodeSelector": {"gpu": "a100"})", true},
                          Case{R"("nodeSelector": {"gpu": "t4"})", false},
                          Case{R"("nodeSelector": {"gpu": 7})", false}}) {
        EXPECT_EQ(runs(c.spec), c.runs) << c.spec;
    }
    for (const Case& c : {
             Case{R"([{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}])", true},
             Case{R"([{"matchExpressions": [{"key": "x", "operator": "Gt", "values": ["1"]}]}])",
                  false},
             Case{R"([{"matchFields":
                     [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}])",
                  true},
             Case{R"([{"matchExpressions": [{"key": "gpu", "operator": "Like"}]}])", false},
             Case{R"([{"matchExpressions": [{"key": "gpu", "operator": "Like"}]},
                      {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}])",
                  true},
             Case{"[{}]", false},
             Case{"[]", false},
             Case{"7", false},
         }) {
        EXPECT_EQ(runs(affinity(c.spec)), c.runs) << c.spec;
    }
    const auto plain = parsed("{}");
    EXPECT_FALSE(may_run(read_node_rules(plain.root()), node)) << "of the taint";
}

// Goal: a pod is only nominated ahead of its turn if we know all that decides where it may run.
TEST(NodeRulesJson, OtherRules) {
    const auto has_others = [](const std::string& spec) {
        const auto pod = parsed(R"({"spec": {"schedulerName": "s", )" + spec + "}}");
        const SchedulingRules rules = read_scheduling_rules(pod.root());
        EXPECT_EQ(rules.scheduler, "s");
        return rules.has_others;
    };
    const auto of_container = [&](const std::string& container) {
        const std::string list = "[{}, " + container + "]";
        const bool is_one = has_others(R"("containers": )" + list);
        EXPECT_EQ(has_others(R"("initContainers": )" + list), is_one) << container;
        return is_one;
    };
    for (const char* spec : {
             R"("affinity": {"podAffinity": {}})",
             R"("affinity": {"podAntiAffinity": {}})",
             R"("affinity": {"nodeAffinity":
                {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}})",
             R"("topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}])",
             R"("resourceClaims": [{}])",
             R"("volumes": [{"persistentVolumeClaim": {}}])",
             R"("volumes": [{"ephemeral": {}}])",
         })
        EXPECT_TRUE(has_others(spec)) << spec;
    EXPECT_FALSE(has_others(R"("volumes": [{"emptyDir": {}}], "nodeSelector": {"a": "b"})"));
    for (const char* container : {
             R"({"ports": [{"containerPort": 80, "hostPort": 80}]})",
             R"({"resources": {"requests": {"ephemeral-storage": "1Gi"}}})",
             R"({"resources": {"limits": {"rdma/hca": "1"}}})",
             R"({"resources": {"limits": {"hugepages-2Mi": "1Gi"}}})",
         })
        EXPECT_TRUE(of_container(container)) << container;
    for (const char* container : {
             R"({"ports": [{"containerPort": 80}]})",
             R"({"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}})",
             R"({"resources": {"limits": {"tessera.dev/gpu-share": "1", "tessera.dev/gpu-memory":
                "3Gi", "aliyun.com/gpu-mem": "3"}}})",
         })
        EXPECT_FALSE(of_container(container)) << container;
}

}  // namespace
}  // namespace tessera

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

}  // namespace
}  // namespace tessera

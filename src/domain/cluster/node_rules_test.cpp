#include "domain/cluster/node_rules.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Kind = LabelTerm::Kind;

NodeTraits node() {
    return {.name = NodeName("n"),
            .labels = {{"gpu", "a100"}, {"gpus", "8"}, {std::string(kNameField), "n"}},
            .taints = {}};
}

// Method: a table of one term each, over a node's labels.
TEST(NodeRules, Terms) {
    struct Case {
        LabelTerm term;
        bool holds;
    };
    for (const Case& c : std::vector<Case>{
             {{Kind::in, "gpu", {"t4", "a100"}}, true},
             {{Kind::in, "gpu", {"t4"}}, false},
             {{Kind::in, "none", {"t4"}}, false},
             {{Kind::not_in, "gpu", {"a100"}}, false},
             {{Kind::not_in, "gpu", {"t4"}}, true},
             {{Kind::not_in, "none", {"t4"}}, true},
             {{Kind::exists, "gpu", {}}, true},
             {{Kind::exists, "none", {}}, false},
             {{Kind::absent, "gpu", {}}, false},
             {{Kind::absent, "none", {}}, true},
             {{Kind::greater, "gpus", {"7"}}, true},
             {{Kind::greater, "gpus", {"8"}}, false},
             {{Kind::greater, "gpu", {"7"}}, false},
             {{Kind::greater, "gpus", {"7x"}}, false},
             {{Kind::less, "gpus", {"9"}}, true},
             {{Kind::less, "gpus", {}}, false},
             {{Kind::less, "none", {"9"}}, false},
             {{Kind::in, std::string(kNameField), {"n"}}, true},
         }) {
        EXPECT_EQ(match({c.term}, node().labels), c.holds)
            << c.term.key << static_cast<int>(c.term.kind);
    }
    EXPECT_TRUE(match({}, node().labels));
}

TEST(NodeRules, SelectorAndAffinity) {
    const LabelTerm a100{Kind::in, "gpu", {"a100"}};
    const LabelTerm t4{Kind::in, "gpu", {"t4"}};
    EXPECT_TRUE(may_run({}, node()));
    EXPECT_TRUE(may_run({.selector = {a100}}, node()));
    EXPECT_FALSE(may_run({.selector = {t4}}, node()));
    EXPECT_TRUE(may_run({.has_affinity = true, .affinity = {{t4}, {a100}}}, node()));
    EXPECT_FALSE(may_run({.has_affinity = true, .affinity = {{t4, a100}}}, node()));
    EXPECT_FALSE(may_run({.has_affinity = true}, node()));
    EXPECT_FALSE(may_run({.has_affinity = true, .affinity = {{}}}, node()));
    EXPECT_FALSE(may_run({.selector = {t4}, .has_affinity = true, .affinity = {{a100}}}, node()));
}

// Method: a table of tolerations of one taint.
TEST(NodeRules, Taints) {
    struct Case {
        Toleration toleration;
        bool runs;
    };
    for (const Case& c : std::vector<Case>{
             {{.key = "gpu", .value = "only"}, true},
             {{.key = "gpu", .value = "other"}, false},
             {{.key = "gpu", .exists = true}, true},
             {{.key = "other", .exists = true}, false},
             {{.exists = true}, true},
             {{.value = "only"}, false},
             {{.key = "gpu", .exists = true, .effect = "NoSchedule"}, true},
             {{.key = "gpu", .exists = true, .effect = "NoExecute"}, false},
         }) {
        NodeTraits tainted = node();
        tainted.taints = {{"gpu", "only", "NoSchedule"}, {"soft", "", "PreferNoSchedule"}};
        EXPECT_FALSE(may_run({}, tainted));
        EXPECT_EQ(may_run({.tolerations = {c.toleration}}, tainted), c.runs)
            << c.toleration.key << c.toleration.value << c.toleration.effect;
    }
}

}  // namespace
}  // namespace tessera

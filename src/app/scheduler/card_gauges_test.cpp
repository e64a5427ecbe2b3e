#include "app/scheduler/card_gauges.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

std::string exposed(ClusterState& state) {
    std::string text;
    append_card_gauges(text, *state.view());
    return text;
}

// Goal: every family has its head and then a line for each card, as Prometheus's text format wants
// it: what promtool would complain of is in no family twice.
TEST(CardGauges, FamiliesAreWhole) {
    ClusterState state;
    for (const char* name : {"n1", "n2"})
        state.set_node(build::node(name, 2, gibibytes(16)));
    std::istringstream lines(exposed(state));
    std::map<std::string, int> of_family;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# HELP ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            EXPECT_TRUE(of_family.emplace(family, 0).second) << family;
        } else if (line.starts_with("# TYPE ")) {
            EXPECT_EQ(line, "# TYPE " + family + " gauge");
        } else {
            EXPECT_TRUE(line.starts_with(family + "{gpu=")) << line;
            ++of_family[family];
        }
    }
    EXPECT_EQ(of_family.size(), 6U);
    for (const auto& [name, cards] : of_family)
        EXPECT_EQ(cards, 4) << name;
}

// Goal: what a node's report may hold breaks no line.
TEST(CardGauges, LabelsAreEscaped) {
    ClusterState state;
    NodeInventory node = build::node("n", 1, gibibytes(16));
    node.gpus[0].uuid = GpuUuid("GPU-\"\\\n}");
    state.set_node(node);
    EXPECT_NE(exposed(state).find(R"(tessera_gpu_pods{gpu="0",node="n",uuid="GPU-\"\\\n}"} 0)"),
              std::string::npos)
        << exposed(state);
}

// Goal: numbers are whole where they are whole, of any size, and exact where they are not.
TEST(CardGauges, Numbers) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(1 << 20)));
    const PodFacts pod = build::pod(
        "p", {build::container(
                 "main", {{"aliyun.com/gpu-mem", "1"}, {"aliyun.com/gpu-core.percentage", "33"}})});
    ASSERT_TRUE(state.reserve(build::ask(pod), NodeName("n")));
    const std::string text = exposed(state);
    for (const char* line : {"tessera_gpu_capacity_bytes{L} 1125899906842624\n",
                             "tessera_gpu_reserved_bytes{L} 1073741824\n",
                             "tessera_gpu_compute_allocated_ratio{L} 0.33\n"}) {
        std::string expected(line);
        expected.replace(expected.find("{L}"), 3, R"({gpu="0",node="n",uuid="GPU-n-0"})");
        EXPECT_NE(text.find(expected), std::string::npos) << expected << text;
    }
}

// Goal: no cards, no families.
TEST(CardGauges, NoCards) {
    ClusterState state;
    EXPECT_EQ(exposed(state), "");
}

}  // namespace
}  // namespace tessera

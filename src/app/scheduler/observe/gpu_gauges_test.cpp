#include "app/scheduler/observe/gpu_gauges.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

std::string exposed(ClusterState& state) {
    std::string text;
    append_gpu_gauges(text, *state.snapshot());
    return text;
}

// Goal: every family has its head and then a line for each GPU, as Prometheus's text format
// requires. No family appears twice, which promtool would report.
TEST(GpuGauges, FamiliesAreWhole) {
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
    for (const auto& [name, gpus] : of_family)
        EXPECT_EQ(gpus, 4) << name;
}

// Goal: no text of a node's report breaks a line.
TEST(GpuGauges, LabelsAreEscaped) {
    ClusterState state;
    NodeInventory node = build::node("n", 1, gibibytes(16));
    node.gpus[0].uuid = GpuUuid("GPU-\"\\\n}");
    state.set_node(node);
    EXPECT_NE(exposed(state).find(R"(tessera_gpu_pods{gpu="0",node="n",uuid="GPU-\"\\\n}"} 0)"),
              std::string::npos)
        << exposed(state);
}

// Goal: whole numbers of any size are written whole, and others are exact.
TEST(GpuGauges, Numbers) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(1 << 20)));
    const PodInfo pod = build::pod(
        "p", {build::container(
                 "main", {{"aliyun.com/gpu-mem", "1"}, {"aliyun.com/gpu-core.percentage", "33"}})});
    ASSERT_TRUE(state.reserve(build::request(pod), NodeName("n")));
    const std::string text = exposed(state);
    for (const char* line : {"tessera_gpu_capacity_bytes{L} 1125899906842624\n",
                             "tessera_gpu_reserved_bytes{L} 1073741824\n",
                             "tessera_gpu_compute_allocated_ratio{L} 0.33\n"}) {
        std::string expected(line);
        expected.replace(expected.find("{L}"), 3, R"({gpu="0",node="n",uuid="GPU-n-0"})");
        EXPECT_NE(text.find(expected), std::string::npos) << expected << text;
    }
}

// Goal: without GPUs there are no families.
TEST(GpuGauges, NoGpus) {
    ClusterState state;
    EXPECT_EQ(exposed(state), "");
}

}  // namespace
}  // namespace tessera

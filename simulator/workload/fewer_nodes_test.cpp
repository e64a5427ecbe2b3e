#include "simulator/workload/fewer_nodes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tessera {
namespace {

// "n0", "n1", ... in the order of their rows 10, 11, ...; the even ones have T4.
Workload cluster(int nodes) {
    Workload workload;
    workload.model_names = {"T4", "G2"};
    for (int node = 0; node < nodes; ++node) {
        workload.nodes.push_back({.cpu_milli = node, .gpus = 2, .model = node % 2});
        workload.node_rows.push_back(10 + static_cast<std::uint32_t>(node));
        workload.node_names.push_back("n" + std::to_string(node));
    }
    return workload;
}

std::set<std::string> left_of(const std::vector<FewerNodes>& fewer, std::uint64_t seed) {
    Workload workload = cluster(20);
    const auto done = take_out(workload, fewer, seed);
    EXPECT_TRUE(done) << done.error().text;
    return {workload.node_names.begin(), workload.node_names.end()};
}

TEST(FewerNodes, AreReadAsCountAndModelOrAsName) {
    EXPECT_EQ(read_fewer_nodes("20 T4"), (FewerNodes{20, "T4"}));
    EXPECT_EQ(read_fewer_nodes("openb-node-0007"), (FewerNodes{0, "openb-node-0007"}));
    EXPECT_EQ(read_fewer_nodes(" 5 NVIDIA A10"), (FewerNodes{5, "NVIDIA A10"}));
    for (const char* text : {"", " ", "T4 20", "0 T4", "-3 T4", "20 ", "2x T4"}) {
        const auto refused = read_fewer_nodes(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().code, Code::invalid_argument);
    }
}

// Goal: all data of a removed node is removed, and the others keep their order.
TEST(FewerNodes, GoByName) {
    Workload workload = cluster(4);
    ASSERT_TRUE(take_out(workload, std::vector<FewerNodes>{{0, "n1"}, {0, "n2"}}, 1));
    EXPECT_EQ(workload.node_names, (std::vector<std::string>{"n0", "n3"}));
    EXPECT_EQ(workload.node_rows, (std::vector<std::uint32_t>{10, 13}));
    ASSERT_EQ(workload.nodes.size(), 2U);
    EXPECT_EQ(workload.nodes[1].cpu_milli, 3);
}

// Goal: exactly the given number of the model is removed, selected by the seed. A larger number
// includes the nodes of a smaller one, so that a series of what-if runs differs in nothing else.
TEST(FewerNodes, GoByModelAndSeed) {
    const auto three = left_of({{3, "T4"}}, 1);
    EXPECT_EQ(three.size(), 17U);
    for (int odd = 1; odd < 20; odd += 2)
        EXPECT_TRUE(three.contains("n" + std::to_string(odd)));
    EXPECT_EQ(three, left_of({{3, "T4"}}, 1));
    EXPECT_NE(three, left_of({{3, "T4"}}, 3));
    for (const std::string& name : left_of({{5, "T4"}}, 1))
        EXPECT_TRUE(three.contains(name));
    EXPECT_EQ(left_of({{10, "T4"}, {10, "G2"}}, 1).size(), 0U);
}

// Goal: each node of the model is selected equally often.
TEST(FewerNodes, AreDrawnEvenly) {
    constexpr int kSeeds = 2'000;
    std::map<std::string, int> went;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto left = left_of({{3, "T4"}}, seed);
        for (int node = 0; node < 20; node += 2) {
            const std::string name = "n" + std::to_string(node);
            went[name] += left.contains(name) ? 0 : 1;
        }
    }
    for (const auto& [name, times] : went)
        EXPECT_NEAR(times, kSeeds * 3 / 10, 90) << name << ": four standard deviations";
}

// Goal: counts of one model add up, and a named node adds to the nodes that are selected.
TEST(FewerNodes, AddUp) {
    EXPECT_EQ(left_of({{2, "T4"}, {3, "T4"}}, 1), left_of({{5, "T4"}}, 1));
    for (int node = 0; node < 20; node += 2) {
        const FewerNodes named{0, "n" + std::to_string(node)};
        EXPECT_EQ(left_of({{3, "T4"}, named}, 1).size(), 16U);
        EXPECT_EQ(left_of({named, {9, "T4"}}, 1).size(), 10U);
    }
    Workload workload = cluster(4);
    EXPECT_EQ(take_out(workload, std::vector<FewerNodes>{{2, "T4"}, {0, "n0"}}, 1).error(),
              (Error{Code::invalid_argument, "2 nodes with T4 to leave out, of only 1"}));
}

TEST(FewerNodes, MustBeThere) {
    Workload workload = cluster(4);
    EXPECT_EQ(take_out(workload, std::vector<FewerNodes>{{0, "n7"}}, 1).error(),
              (Error{Code::not_found, "no node \"n7\" in the cluster"}));
    EXPECT_EQ(take_out(workload, std::vector<FewerNodes>{{1, "H100"}}, 1).error(),
              (Error{Code::not_found, "no node with \"H100\" in the cluster; there is T4, G2"}));
    EXPECT_EQ(take_out(workload, std::vector<FewerNodes>{{3, "G2"}}, 1).error(),
              (Error{Code::invalid_argument, "3 nodes with G2 to leave out, of only 2"}));
}

}  // namespace
}  // namespace tessera

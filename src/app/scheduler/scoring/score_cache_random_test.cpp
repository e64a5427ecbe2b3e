// The policy random as the controller uses it: a random choice decides.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/scheduler/scoring/score_cache.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: with the policy random, every GPU of every node is equally likely: the choice of the GPU
// does not depend on the choice of the node.
TEST(ScoreCache, RandomTakesAnyGpuOfAnyNode) {
    constexpr int kPods = 400;
    const ScoreCache scores((*find_policy_option("random"))->make({}));
    ClusterState state;
    for (const char* name : {"m", "n"})
        state.set_node(build::node(name, 2, gibibytes(16)));
    const auto snapshot = state.snapshot();
    const std::vector<std::uint32_t> positions = {snapshot->position("m"), snapshot->position("n")};
    std::map<std::pair<std::ptrdiff_t, int>, int> taken;
    for (int i = 0; i < kPods; ++i) {
        const PodRequest pod =
            build::request(build::pod(fmt::format("p{}", i), build::native(gibibytes(4))));
        const auto scored = scores.score(*snapshot, positions, pod);
        const auto best = std::ranges::max_element(scored) - scored.begin();
        const NodeInfo& node = *snapshot->find(best == 0 ? "m" : "n");
        ++taken[{best, scores.choose(node, node.node_gpus(), pod)->gpus.front()}];
    }
    EXPECT_EQ(taken.size(), 4U);
    for (const auto& [gpu, times] : taken)
        EXPECT_GT(times, kPods / 8) << gpu.first << ":" << gpu.second;
}

// Goal: random gives every pod a place of its own, and the same pod the same one in every replica.
TEST(ScoreCache, RandomIsThePodsOwn) {
    const ScoreCache scores((*find_policy_option("random"))->make({}));
    const ScoreCache replica((*find_policy_option("random"))->make({}));
    ClusterState state;
    std::vector<std::uint32_t> positions;
    for (int i = 0; i < 8; ++i)
        state.set_node(build::node(fmt::format("n{}", i), 1, gibibytes(16)));
    const auto snapshot = state.snapshot();
    for (int i = 0; i < 8; ++i)
        positions.push_back(snapshot->position(fmt::format("n{}", i)));
    std::map<std::ptrdiff_t, int> chosen;
    for (int i = 0; i < 100; ++i) {
        const PodRequest pod = build::request(build::pod(fmt::format("p{}", i), build::whole()));
        const auto scored = scores.score(*snapshot, positions, pod);
        EXPECT_EQ(scored, replica.score(*snapshot, positions, pod));
        ++chosen[std::ranges::max_element(scored) - scored.begin()];
    }
    EXPECT_EQ(chosen.size(), 8U);
}

}  // namespace
}  // namespace tessera

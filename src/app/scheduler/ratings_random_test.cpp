// The policy random as the controller asks it: where a lot decides.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/scheduler/ratings.hpp"
#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: by lot every card of every node is as likely as any other: which card it is does not hang
// on which node it is.
TEST(Ratings, RandomTakesAnyCardOfAnyNode) {
    constexpr int kPods = 400;
    const Ratings ratings((*find_policy_option("random"))->make({}));
    ClusterState state;
    for (const char* name : {"m", "n"})
        state.set_node(build::node(name, 2, gibibytes(16)));
    const auto view = state.view();
    const std::vector<std::uint32_t> positions = {view->position("m"), view->position("n")};
    std::map<std::pair<std::ptrdiff_t, int>, int> taken;
    for (int i = 0; i < kPods; ++i) {
        const PodAsk pod =
            build::ask(build::pod(fmt::format("p{}", i), build::native(gibibytes(4))));
        const auto rated = ratings.rate(*view, positions, pod);
        const auto best = std::ranges::max_element(rated) - rated.begin();
        const NodeView& node = *view->find(best == 0 ? "m" : "n");
        ++taken[{best, ratings.choose(node, node.offer(), pod)->cards.front()}];
    }
    EXPECT_EQ(taken.size(), 4U);
    for (const auto& [card, times] : taken)
        EXPECT_GT(times, kPods / 8) << card.first << ":" << card.second;
}

// Goal: random gives every pod a place of its own, and the same pod the same one in every replica.
TEST(Ratings, RandomIsThePodsOwn) {
    const Ratings ratings((*find_policy_option("random"))->make({}));
    const Ratings replica((*find_policy_option("random"))->make({}));
    ClusterState state;
    std::vector<std::uint32_t> positions;
    for (int i = 0; i < 8; ++i)
        state.set_node(build::node(fmt::format("n{}", i), 1, gibibytes(16)));
    const auto view = state.view();
    for (int i = 0; i < 8; ++i)
        positions.push_back(view->position(fmt::format("n{}", i)));
    std::map<std::ptrdiff_t, int> chosen;
    for (int i = 0; i < 100; ++i) {
        const PodAsk pod = build::ask(build::pod(fmt::format("p{}", i), build::whole()));
        const auto rated = ratings.rate(*view, positions, pod);
        EXPECT_EQ(rated, replica.rate(*view, positions, pod));
        ++chosen[std::ranges::max_element(rated) - rated.begin()];
    }
    EXPECT_EQ(chosen.size(), 8U);
}

}  // namespace
}  // namespace tessera

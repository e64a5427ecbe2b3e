// Goal: what a node's room is rated is what the node itself is, of every kind of pod: of one
// container or two, with memory of the host, without terms, or for whom it has too few thousandths.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/scheduler/ratings.hpp"
#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

TEST(RatingsOfRoom, AreThoseOfTheNodeThatItIsOf) {
    const std::vector<MixClass> mix = {{500, 300, 1, kAnyModel, 0.7}, {0, 550, 1, kAnyModel, 0.3}};
    ClusterState state;
    NodeInventory node = build::node("n0", 3, gibibytes(16));
    node.host = {8'000, gibibytes(64)};
    state.set_node(node);
    state.set_node(build::node("n1", 1, mebibytes(3)));
    const auto reserve = [&](const PodFacts& pod, const char* on) {
        ASSERT_TRUE(state.reserve(build::ask(pod), NodeName(on)));
    };
    reserve(build::pod("there", build::native(gibibytes(5))), "n0");
    for (const auto* name : {"a", "b"})
        reserve(build::pod(name, build::native(mebibytes(1))), "n1");
    const auto share = [](const char* name, const char* memory, ContainerKind kind) {
        return build::container(
            name, {{"tessera.dev/gpu", "1"}, {"tessera.dev/gpu-memory", memory}}, kind);
    };
    struct Case {
        std::vector<ContainerSpec> containers;
        const char* node;
        bool is_rated;
    };
    for (const Case& c : {
             Case{build::native(gibibytes(4)), "n0", true},
             Case{build::whole(2), "n0", true},
             Case{
                 {share("one", "3Gi", ContainerKind::app), share("two", "9Gi", ContainerKind::app)},
                 "n0",
                 true},
             Case{{share("pre", "4Gi", ContainerKind::init),
                   share("one", "4Gi", ContainerKind::app)},
                  "n0",
                  false},
             Case{build::native(mebibytes(1)), "n1", false},
         }) {
        PodFacts pod = build::pod("asks", c.containers);
        pod.host = {500, gibibytes(2)};
        const auto view = state.view();
        const std::uint32_t position = view->position(c.node);
        const NodeView& of = *view->row(position).node;
        for (const char* policy : {"spread", "best-fit", "fgd"}) {
            const Ratings ratings((*find_policy_option(policy))->make({.mix = mix}));
            PodAsk ask = build::ask(pod);
            const std::int64_t rated = ratings.rate_room(of, of.offer(), ask);
            EXPECT_EQ(ratings.rate(*view, {&position, 1}, ask)[0], rated) << policy;
            EXPECT_EQ(rated != NodeRater::kLast, c.is_rated) << policy;
            const std::size_t kinds = ratings.kinds().size();
            ask.host.memory = gibibytes(1);
            EXPECT_EQ(ratings.rate_room(of, of.offer(), ask), rated) << policy;
            EXPECT_EQ(ratings.kinds().size(), kinds) << policy;
        }
    }
}

// Goal: a pod with more kinds of containers than are kept is rated as each of them is alone; what
// is kept for them stays while the request looks at it, and is bounded again with the next one.
TEST(RatingsOfRoom, APodOfMoreKindsThanAreKept) {
    constexpr int kKinds = 300;
    constexpr std::size_t kKept = 256;
    ClusterState state;
    state.set_node(build::node("n0", 1, mebibytes(1'000)));
    std::vector<ContainerSpec> containers;
    for (int i = 1; i <= kKinds; ++i) {
        containers.push_back(build::container(
            fmt::format("c{}", i),
            {{"tessera.dev/gpu", "1"}, {"tessera.dev/gpu-memory", fmt::format("{}Mi", i)}}));
    }
    const PodAsk pod = build::ask(build::pod("many", containers));
    const auto view = state.view();
    const std::uint32_t position = view->position("n0");
    const NodeView& node = *view->row(position).node;
    const Ratings ratings((*find_policy_option("best-fit"))->make({}));
    const Ratings other((*find_policy_option("best-fit"))->make({}));
    EXPECT_EQ(ratings.rate(*view, {&position, 1}, pod)[0],
              other.rate_room(node, node.offer(), pod));
    EXPECT_EQ(ratings.kinds().size(), static_cast<std::size_t>(kKinds));
    const PodAsk one = build::ask(build::pod("one", build::native(mebibytes(999))));
    EXPECT_NE(ratings.rate(*view, {&position, 1}, one)[0], NodeRater::kLast);
    EXPECT_EQ(ratings.kinds().size(), kKept);
}

}  // namespace
}  // namespace tessera

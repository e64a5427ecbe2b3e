// Goal: what a node's room is rated is what the node itself is, of every kind of pod: of one
// container or two, with memory of the host, without terms, or for whom it has too few thousandths.
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

}  // namespace
}  // namespace tessera

// Goal: score_room() of a node gives the same score as the node itself, for every kind of pod: of
// one container or two, with memory of the host, without terms, or with too few thousandths left.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/scheduler/scoring/score_cache.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Of a GPU of 1,000 parts: a part is the smallest share.
constexpr Bytes parts(std::int64_t n) {
    return mebibytes(2 * n);
}

TEST(ScoreCacheOfReservations, AreThoseOfTheNodeThatItIsOf) {
    const std::vector<MixClass> mix = {{500, 300, 1, kAnyModel, 0.7}, {0, 550, 1, kAnyModel, 0.3}};
    ClusterState state;
    NodeInventory node = build::node("n0", 3, gibibytes(16));
    node.host = {8'000, gibibytes(64)};
    state.set_node(node);
    state.set_node(build::node("n1", 1, parts(3)));
    const auto reserve = [&](const PodInfo& pod, const char* on) {
        ASSERT_TRUE(state.reserve(build::request(pod), NodeName(on)));
    };
    reserve(build::pod("there", build::native(gibibytes(5))), "n0");
    for (const auto* name : {"a", "b"})
        reserve(build::pod(name, build::native(parts(1))), "n1");
    const auto share = [](const char* name, const char* memory, ContainerKind kind) {
        return build::container(
            name, {{"tessera.dev/gpu-share", "1"}, {"tessera.dev/gpu-memory", memory}}, kind);
    };
    struct Case {
        std::vector<ContainerSpec> containers;
        const char* node;
        bool is_scored;
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
             Case{build::native(parts(1)), "n1", false},
         }) {
        PodInfo pod = build::pod("asks", c.containers);
        pod.host = {500, gibibytes(2)};
        const auto snapshot = state.snapshot();
        const std::uint32_t position = snapshot->position(c.node);
        const NodeInfo& of = *snapshot->row(position).node;
        for (const char* policy : {"spread", "best-fit", "fgd"}) {
            const ScoreCache scores((*find_policy_option(policy))->make({.mix = mix}));
            PodRequest request = build::request(pod);
            const std::int64_t scored = scores.score_room(of, of.node_gpus(), request);
            EXPECT_EQ(scores.score(*snapshot, {&position, 1}, request)[0], scored) << policy;
            EXPECT_EQ(scored != NodeScorer::kLast, c.is_scored) << policy;
            const std::size_t kinds = scores.kinds().size();
            request.host.memory = gibibytes(1);
            EXPECT_EQ(scores.score_room(of, of.node_gpus(), request), scored) << policy;
            EXPECT_EQ(scores.kinds().size(), kinds) << policy;
        }
    }
}

// Goal: a pod with more kinds of containers than the cache keeps has the sum of their single
// scores. Its columns stay while the request uses them, and the cache is bounded again with the
// next one.
TEST(ScoreCacheOfReservations, APodOfMoreKindsThanAreKept) {
    constexpr int kKinds = 300;
    constexpr std::size_t kKept = 256;
    ClusterState state;
    state.set_node(build::node("n0", 1, parts(1'000)));
    std::vector<ContainerSpec> containers;
    for (int i = 1; i <= kKinds; ++i) {
        containers.push_back(build::container(
            fmt::format("c{}", i), {{"tessera.dev/gpu-share", "1"},
                                    {"tessera.dev/gpu-memory", fmt::format("{}Mi", 2 * i)}}));
    }
    const PodRequest pod = build::request(build::pod("many", containers));
    const auto snapshot = state.snapshot();
    const std::uint32_t position = snapshot->position("n0");
    const NodeInfo& node = *snapshot->row(position).node;
    const ScoreCache scores((*find_policy_option("best-fit"))->make({}));
    const ScoreCache other((*find_policy_option("best-fit"))->make({}));
    EXPECT_EQ(scores.score(*snapshot, {&position, 1}, pod)[0],
              other.score_room(node, node.node_gpus(), pod));
    EXPECT_EQ(scores.kinds().size(), static_cast<std::size_t>(kKinds));
    const PodRequest one = build::request(build::pod("one", build::native(parts(999))));
    EXPECT_NE(scores.score(*snapshot, {&position, 1}, one)[0], NodeScorer::kLast);
    EXPECT_EQ(scores.kinds().size(), kKept);
}

}  // namespace
}  // namespace tessera

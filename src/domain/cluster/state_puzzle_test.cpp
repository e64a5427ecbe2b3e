#include <gtest/gtest.h>

#include <optional>

#include "domain/cluster/state.hpp"
#include "domain/placement/binpack.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: a pod that has been given its cards and whose allocation was changed or removed while the
// controller was away keeps the node from being given out twice, until it is gone; one that never
// started holds nothing, and neither does one that gushare's plugin let start without a card.
TEST(StatePuzzle, RunsWithACardThatNobodyKnows) {
    ClusterState state;
    state.set_node(build::node("n1", 2, gibibytes(16)));
    state.set_node(build::legacy_node("old", 1, 16));
    const auto blocked = [&](const char* node) { return state.view()->find(node)->blocked; };
    const std::vector<std::optional<Result<Allocation>>> what_is_left = {
        std::nullopt,
        fail(Code::permission_denied, "allocation: tessera.dev/allocation-mac is missing"),
        build::allocation(build::pod("another", build::aliyun(8)), "n1",
                          {{GpuUuid("GPU-n1-0"), 0, gibibytes(8), {}, false}}),
    };
    for (const auto& allocation : what_is_left) {
        PodFacts pod = build::pod("p", build::aliyun(8));
        pod.node = NodeName("n1");
        pod.allocation = allocation;
        state.set_pod(pod);
        EXPECT_EQ(blocked("n1"), "");
        for (const Card& card : state.view()->find("n1")->cards)
            EXPECT_EQ(card.held, Bytes{});
        pod.started = true;
        state.set_pod(pod);
        EXPECT_NE(blocked("n1").find("pod default/p runs with a GPU"), std::string::npos);
        EXPECT_FALSE(state.reserve(PodUid("next"), {"d", "next"}, NodeName("n1"),
                                   build::request(build::aliyun(1)), binpack_policy()));
        state.remove_pod(pod.uid);
        EXPECT_EQ(blocked("n1"), "");

        pod.node = NodeName("old");
        state.set_pod(pod);
        EXPECT_EQ(blocked("old"), "");
        state.remove_pod(pod.uid);
    }
}

// Goal: gpushare's annotations, which any owner may write, are no way around the puzzle: a pod that
// an agent let start had an allocation of ours.
TEST(StatePuzzle, GpusharesAnnotationsAreNoWayOut) {
    ClusterState state;
    state.set_node(build::node("n1", 2, gibibytes(16)));
    PodFacts pod = build::legacy_bound(build::pod("p", build::aliyun(8)), "n1", 1, 1);
    pod.started = true;  // on card 0, with 8 GiB; its owner removed tessera.dev/allocation
    state.set_pod(pod);
    EXPECT_NE(state.view()->find("n1")->blocked, "");
}

// Goal: where gpushare's plugin serves the node, it obeys gpushare's annotations whatever stands in
// ours (not signed: placed before there was a key): what it gave out counts.
TEST(StatePuzzle, GpusharesPluginGaveACard) {
    ClusterState state;
    state.set_node(build::legacy_node("old", 1, 16));
    PodFacts pod = build::legacy_bound(build::pod("p", build::aliyun(16)), "old", 0, 16);
    pod.allocation = fail(Code::permission_denied, "allocation-mac is missing");
    pod.started = true;
    state.set_pod(pod);
    EXPECT_FALSE(state.reserve(PodUid("next"), {"d", "next"}, NodeName("old"),
                               build::request(build::aliyun(16)), binpack_policy()));
}

// Goal: where our agent serves the node, a pod that never started holds no card by annotations that
// its owner wrote (spec.nodeName and gpushare's annotations: the agent refuses it).
TEST(StatePuzzle, GpusharesAnnotationsTakeNoCard) {
    ClusterState state;
    state.set_node(build::node("n1", 1, gibibytes(16)));
    state.set_pod(build::legacy_bound(build::pod("p", build::aliyun(1)), "n1", 0, 16));
    EXPECT_EQ(state.view()->find("n1")->cards[0].held, Bytes{});
}

}  // namespace
}  // namespace tessera

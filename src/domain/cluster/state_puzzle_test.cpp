#include <gtest/gtest.h>

#include <optional>

#include "domain/cluster/state.hpp"
#include "domain/placement/nominees.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: a pod that has been given its cards and whose allocation was changed or removed while the
// controller was away keeps the node from being given out twice, until it is gone; one that never
// started holds nothing, and neither does one that gpushare's plugin let start without a card.
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
        EXPECT_NE(blocked_for(*state.view()->find("n1"), Reader::of("default"))
                      .find("pod default/p runs with a GPU"),
                  std::string::npos);
        EXPECT_FALSE(
            state.reserve(build::ask(build::pod("next", build::aliyun(1))), NodeName("n1")));
        state.remove_pod(pod.uid);
        EXPECT_EQ(blocked("n1"), "");

        pod.node = NodeName("old");
        state.set_pod(pod);
        EXPECT_EQ(blocked("old"), "");
        state.remove_pod(pod.uid);
    }
}

// Goal: a copy of a pod that was bound to a node by its manifest has an allocation that was made
// for another, signed or not, readable or not. The agent starts no copy; the node stays open for
// others.
TEST(StatePuzzle, CopiesKeepNoNodeClosed) {
    const std::vector<Result<Allocation>> copied = {
        build::allocation(build::pod("first", build::aliyun(8)), "n1",
                          {{GpuUuid("GPU-n1-0"), 0, gibibytes(8), {}, false}}),
        fail(Code::permission_denied, "allocation: tessera.dev/allocation-mac is missing"),
        fail(Code::conflict, "allocation: it was made for another pod"),
        fail(Code::invalid_argument, "allocation.pod: missing"),
    };
    for (const auto& allocation : copied) {
        ClusterState state;
        state.set_node(build::node("n1", 1, gibibytes(16)));
        PodFacts copy = build::pod("copy", build::aliyun(8));
        copy.node = NodeName("n1");
        copy.allocation = allocation;
        state.set_pod(copy);
        EXPECT_EQ(state.view()->find("n1")->blocked, "");
        EXPECT_TRUE(
            state.reserve(build::ask(build::pod("next", build::aliyun(16))), NodeName("n1")));
    }
}

// Goal: a node that a pod keeps closed says so to users of other namespaces without the pod's name.
TEST(StatePuzzle, NamesThePodToItsOwnNamespaceAlone) {
    for (const bool is_newer : {false, true}) {
        ClusterState state;
        state.set_node(build::node("n1", 1, gibibytes(16)));
        PodFacts pod = build::pod("secret-pod", build::aliyun(8));
        pod.name.space = "secret-team";
        pod.node = NodeName("n1");
        pod.started = true;
        pod.allocation =
            fail(is_newer ? Code::unsupported : Code::permission_denied, "allocation: secret");
        state.set_pod(pod);
        const auto made =
            state.reserve(build::ask(build::pod("next", build::aliyun(1))), NodeName("n1"));
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().text.find("secret"), std::string::npos) << made.error().text;
        const auto view = state.view();
        const NodeView& node = *view->find("n1");
        EXPECT_EQ(node.blocked.find("secret"), std::string::npos);
        for (const Reader& reader : {Reader::of("secret-team"), Reader::of_all()})
            EXPECT_NE(blocked_for(node, reader).find("secret-team/secret-pod"), std::string::npos);
    }
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
    EXPECT_FALSE(state.reserve(build::ask(build::pod("next", build::aliyun(16))), NodeName("old")));
}

// Goal: where our agent serves the node, a pod that never started holds no card by annotations that
// its owner wrote (spec.nodeName and gpushare's annotations: the agent refuses it).
TEST(StatePuzzle, GpusharesAnnotationsTakeNoCard) {
    ClusterState state;
    state.set_node(build::node("n1", 1, gibibytes(16)));
    state.set_pod(build::legacy_bound(build::pod("p", build::aliyun(1)), "n1", 0, 16));
    EXPECT_EQ(state.view()->find("n1")->cards[0].held, Bytes{});
}

// Goal: whoever serves the node may be known later than its pods, and change: what gpushare's
// plugin started keeps its card after a takeover, also one that started after it was first seen.
TEST(StatePuzzle, PodsBeforeTheirNodeAndATakeover) {
    ClusterState state;
    const auto held = [&] { return state.view()->find("n1")->cards[0].held; };
    PodFacts pod = build::legacy_bound(build::pod("p", build::aliyun(8)), "n1", 0, 8);
    state.set_pod(pod);
    state.set_node(build::legacy_node("n1", 1, 16));
    EXPECT_EQ(held(), gibibytes(8));
    pod.started = true;
    state.set_pod(pod);
    state.set_node(build::node("n1", 1, gibibytes(16)));
    EXPECT_EQ(held(), gibibytes(8));

    state.set_pod(build::legacy_bound(build::pod("late", build::aliyun(4)), "n2", 0, 4));
    state.set_node(build::node("n2", 1, gibibytes(16)));
    EXPECT_EQ(state.view()->find("n2")->cards[0].held, Bytes{}) << "nobody has started it";
}

}  // namespace
}  // namespace tessera

// Pods that wait for a node, and those that kube-scheduler nominated to one.
#include <gtest/gtest.h>

#include "domain/cluster/state.hpp"
#include "domain/placement/binpack.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: pods that kube-scheduler does not ask for wait for nothing: gated ones until their gates
// are gone, and those that end before they are placed.
TEST(PendingPods, WithoutGatedAndEndingOnes) {
    ClusterState state;
    PodFacts pod = build::pod("p", build::aliyun(8));
    pod.gated = true;
    state.set_pod(pod);
    EXPECT_EQ(state.pending_count(), 0U);
    pod.gated = false;
    state.set_pod(pod);
    EXPECT_EQ(state.pending_count(), 1U);
    pod.terminating = true;
    state.set_pod(pod);
    EXPECT_EQ(state.pending_count(), 0U);
}

// Goal: a nomination ends with whatever ends the waiting: another node, none, deletion, a list
// without the pod, cards of its own; a node that only nominees named is not known for it.
TEST(PendingPods, NominationsEnd) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    PodFacts pod = build::pod("p", build::aliyun(8));
    const auto nominate = [&](const char* node) {
        pod.nominated = NodeName(node);
        state.set_pod(pod);
    };
    const auto nominees = [&] { return state.view()->find("n")->nominees.size(); };
    nominate("n");
    EXPECT_EQ(nominees(), 1U);
    nominate("elsewhere");
    EXPECT_EQ(nominees(), 0U);
    EXPECT_EQ(state.view()->find("elsewhere"), nullptr);
    nominate("n");
    nominate("");
    EXPECT_EQ(nominees(), 0U);

    nominate("n");
    pod.terminating = true;
    state.set_pod(pod);
    EXPECT_EQ(nominees(), 0U);
    pod.terminating = false;

    nominate("n");
    state.keep_only_pods({});
    EXPECT_EQ(nominees(), 0U);

    nominate("n");
    const auto made = state.reserve(build::ask(pod), NodeName("n"), binpack_policy());
    ASSERT_TRUE(made);
    EXPECT_EQ(nominees(), 0U);
    EXPECT_EQ(state.view()->find("n")->cards[0].held, gibibytes(8));
    state.refuse(made->attempt);
    EXPECT_EQ(state.view()->find("n")->cards[0].held, Bytes{});
}

// Goal: a nominee keeps its room while its node is away and comes back.
TEST(PendingPods, NominationsOutliveTheirNode) {
    ClusterState state;
    PodFacts pod = build::pod("p", build::aliyun(8));
    pod.nominated = NodeName("n");
    state.set_pod(pod);
    state.set_node(build::node("n", 1, gibibytes(16)));
    state.remove_node(NodeName("n"));
    state.set_node(build::node("n", 1, gibibytes(16)));
    EXPECT_EQ(state.view()->find("n")->nominees.size(), 1U);
}

}  // namespace
}  // namespace tessera

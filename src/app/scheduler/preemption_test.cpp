#include "app/scheduler/preemption.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class ChooseVictims : public ::testing::Test {
  protected:
    // A node of one card of 16 GiB, held by one pod.
    void node_with(const std::string& node, const std::string& pod_name, int gib, int priority,
                   bool terminating = false) {
        state_.set_node(build::node(node, 1, gibibytes(16)));
        PodFacts pod = build::pod(pod_name, build::native(gibibytes(gib)));
        pod.priority = priority;
        pod.terminating = terminating;
        state_.set_pod(build::bound(
            pod, build::allocation(
                     pod, node, {{GpuUuid("GPU-" + node + "-0"), 0, gibibytes(gib), {}, false}})));
    }
    std::vector<NodeVictims> choose(std::vector<NodeVictims> nodes) {
        PreemptionArgs args{build::pod("p", build::native(gibibytes(8))), std::move(nodes)};
        args.pod.priority = 10;
        return choose_victims(*state_.view(), args, build::ask(args.pod));
    }

    ClusterState state_;
};

// Goal: of each node that kube-scheduler names, the pods that the card needs; those that hold no
// GPU stay, since they were named for something else; a node where no card comes free, or that is
// unknown, is left out.
TEST_F(ChooseVictims, TheCardsNeed) {
    node_with("a", "low", 16, 1);
    node_with("b", "high", 16, 11);
    const auto chosen = choose({{NodeName("a"), {PodUid("uid-cpu-hog")}, 1},
                                {NodeName("b"), {PodUid("uid-high")}, 0},
                                {NodeName("unknown"), {PodUid("x")}, 0}});
    EXPECT_EQ(
        chosen,
        (std::vector<NodeVictims>{{NodeName("a"), {PodUid("uid-low"), PodUid("uid-cpu-hog")}, 1}}));
}

// Goal: nobody is evicted on a node where room is on its way.
TEST_F(ChooseVictims, RoomIsOnItsWay) {
    node_with("a", "low", 16, 1);
    node_with("b", "ending", 16, 11, true);
    const std::vector<NodeVictims> on_a = {{NodeName("a"), {PodUid("uid-low")}, 0}};
    EXPECT_EQ(choose({on_a[0], {NodeName("b"), {PodUid("uid-ending")}, 0}}), on_a);
}

// Goal: where the cards have room as it is, kube-scheduler named its victims for something else
// (processors, ports); they are not ours to spare.
TEST_F(ChooseVictims, TheCardsAreNotWhatIsMissing) {
    node_with("a", "low", 4, 1);
    const std::vector<NodeVictims> asked = {{NodeName("a"), {PodUid("uid-cpu-hog")}, 0}};
    EXPECT_EQ(choose(asked), asked);
    const std::vector<NodeVictims> tenant = {{NodeName("a"), {PodUid("uid-low")}, 0}};
    EXPECT_EQ(choose(tenant), tenant);
}

// Goal: one node whose cards have room, and that lacks processors, keeps nobody from a place
// elsewhere.
TEST_F(ChooseVictims, RoomThatCannotBeUsed) {
    node_with("a", "low", 16, 1);
    node_with("b", "other", 4, 1);
    EXPECT_FALSE(choose({{NodeName("a"), {PodUid("uid-low")}, 0},
                         {NodeName("b"), {PodUid("uid-cpu-hog")}, 0}})
                     .empty());
}

// Goal: the victims that the node's processors need are not exchanged for those of the card alone:
// then the card's would end in vain. (Here kube-scheduler names a pod that holds a share on the
// other card, though the node's sum of shares does not ask for it.)
TEST_F(ChooseVictims, NamedForSomethingElse) {
    state_.set_node(build::node("a", 2, gibibytes(16)));
    for (const int card : {0, 1}) {
        PodFacts pod = build::pod(card == 0 ? "small" : "cpu", build::native(gibibytes(9)));
        pod.priority = card;
        state_.set_pod(build::bound(
            pod, build::allocation(
                     pod, "a",
                     {{GpuUuid("GPU-a-" + std::to_string(card)), card, gibibytes(9), {}, false}})));
    }
    const auto chosen = choose({{NodeName("a"), {PodUid("uid-cpu")}, 0}});
    ASSERT_EQ(chosen.size(), 1U);
    EXPECT_NE(std::ranges::find(chosen[0].pods, PodUid("uid-cpu")), chosen[0].pods.end());
}

}  // namespace
}  // namespace tessera

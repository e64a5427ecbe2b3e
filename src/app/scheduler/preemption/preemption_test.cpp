#include "app/scheduler/preemption/preemption.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"
#include "testing/builders/reaching_prop.hpp"

namespace tessera {
namespace {

class ChooseVictims : public ::testing::Test {
  protected:
    // A node of one GPU of 16 GiB, with one pod.
    void node_with(const std::string& node, const std::string& pod_name, int gib, int priority,
                   bool terminating = false) {
        state_.set_node(build::node(node, 1, gibibytes(16)));
        PodInfo pod = build::pod(pod_name, build::native(gibibytes(gib)));
        pod.priority = priority;
        pod.terminating = terminating;
        state_.set_pod(build::bound(
            pod, build::allocation(
                     pod, node, {{GpuUuid("GPU-" + node + "-0"), 0, gibibytes(gib), {}, false}})));
    }
    std::vector<NodeVictims> choose(std::vector<NodeVictims> nodes) {
        PreemptionArgs args{build::pod("p", build::native(gibibytes(8))), std::move(nodes)};
        args.pod.priority = 10;
        return choose_victims(*state_.snapshot(), args, build::request(args.pod));
    }

    ClusterState state_;
};

// Goal: for each node that kube-scheduler names, the victims that the GPU needs. Victims without a
// GPU stay, since they were named for something else. A node that is unknown, or where no GPU can
// be freed, is left out.
TEST_F(ChooseVictims, TheGpusNeed) {
    node_with("a", "low", 16, 1);
    node_with("b", "high", 16, 11);
    const auto chosen = choose({{NodeName("a"), {PodUid("uid-cpu-hog")}, 1},
                                {NodeName("b"), {PodUid("uid-high")}, 0},
                                {NodeName("unknown"), {PodUid("x")}, 0}});
    EXPECT_EQ(
        chosen,
        (std::vector<NodeVictims>{{NodeName("a"), {PodUid("uid-low"), PodUid("uid-cpu-hog")}, 1}}));
}

// Goal: no pod is evicted on a node where GPUs become free soon.
TEST_F(ChooseVictims, RoomIsOnItsWay) {
    node_with("a", "low", 16, 1);
    node_with("b", "ending", 16, 11, true);
    const std::vector<NodeVictims> on_a = {{NodeName("a"), {PodUid("uid-low")}, 0}};
    EXPECT_EQ(choose({on_a[0], {NodeName("b"), {PodUid("uid-ending")}, 0}}), on_a);
}

// Goal: if the GPUs have enough space, kube-scheduler named its victims for something else
// (processors, ports), so we keep them all.
TEST_F(ChooseVictims, TheGpusAreNotWhatIsMissing) {
    node_with("a", "low", 4, 1);
    const std::vector<NodeVictims> asked = {{NodeName("a"), {PodUid("uid-cpu-hog")}, 0}};
    EXPECT_EQ(choose(asked), asked);
    const std::vector<NodeVictims> with_share = {{NodeName("a"), {PodUid("uid-low")}, 0}};
    EXPECT_EQ(choose(with_share), with_share);
}

// Goal: a node with enough GPU space and too few processors does not keep the pod from another
// node.
TEST_F(ChooseVictims, RoomThatCannotBeUsed) {
    node_with("a", "low", 16, 1);
    node_with("b", "other", 4, 1);
    EXPECT_FALSE(choose({{NodeName("a"), {PodUid("uid-low")}, 0},
                         {NodeName("b"), {PodUid("uid-cpu-hog")}, 0}})
                     .empty());
}

// Goal: the victims that the node's processors need are not replaced by those of the GPU alone:
// evicting these would have no use. (Here kube-scheduler names a pod with a share on the other GPU,
// though the node's sum of shares does not require it.)
TEST_F(ChooseVictims, NamedForSomethingElse) {
    state_.set_node(build::node("a", 2, gibibytes(16)));
    for (const int gpu : {0, 1}) {
        PodInfo pod = build::pod(gpu == 0 ? "small" : "cpu", build::native(gibibytes(9)));
        pod.priority = gpu;
        state_.set_pod(build::bound(
            pod, build::allocation(
                     pod, "a",
                     {{GpuUuid("GPU-a-" + std::to_string(gpu)), gpu, gibibytes(9), {}, false}})));
    }
    const auto chosen = choose({{NodeName("a"), {PodUid("uid-cpu")}, 0}});
    ASSERT_EQ(chosen.size(), 1U);
    EXPECT_NE(std::ranges::find(chosen[0].pods, PodUid("uid-cpu")), chosen[0].pods.end());
}

// Goal: kube-scheduler names a pod for the sake of processors, and the preemptor has an affinity to
// that pod. The pod is not evicted for it, so its node is no candidate.
TEST_F(ChooseVictims, NobodyEndsForWhoWantsToBeWithHim) {
    PreemptionArgs args{build::pod("p", build::native(gibibytes(8))), {}};
    args.pod.priority = 10;
    args.pod.gpu_rules.affinity = "g";
    for (const char* name : {"a", "b"}) {
        state_.set_node(build::node(name, 1, gibibytes(16)));
        PodInfo pod = build::pod(std::string("on-") + name, build::native(gibibytes(4)));
        if (name == std::string("a")) pod.gpu_rules.affinity = "g";
        pod = build::bound(
            pod, build::allocation(
                     pod, name,
                     {{GpuUuid(std::string("GPU-") + name + "-0"), 0, gibibytes(4), {}, false}}));
        state_.set_pod(pod);
        args.nodes.push_back({NodeName(name), {pod.uid, PodUid("uid-cpu-hog")}, 0});
    }
    const auto choose_for = [&] {
        return choose_victims(*state_.snapshot(), args, build::request(args.pod));
    };
    EXPECT_TRUE(choose_for().empty()) << "b has no pod of its group";
    args.nodes.front().pods = {PodUid("uid-cpu-hog")};
    EXPECT_EQ(choose_for(), std::vector{args.nodes.front()});
    args.pod.gpu_rules.affinity = "another";
    args.nodes.front().pods.push_back(PodUid("uid-on-a"));
    EXPECT_EQ(choose_for(), args.nodes);
}

// Goal: whatever kube-scheduler asks, no node comes back without a victim, which it treats as an
// error, and no node that it did not ask about. No victim comes twice, and each was named or is a
// pod of lower priority there. Method: random pods on two nodes; victims that are there, that are
// not, or none at all.
REACHING_PROP(ChooseVictimsProperty, NoNodeWithoutVictims) {
    ClusterState state;
    std::vector<PodInfo> pods;
    for (const std::string node : {"a", "b"}) {
        state.set_node(build::node(node, 2, gibibytes(16)));
        for (int gpu = 0; gpu < 2; ++gpu) {
            for (int left = 16; left > 0;) {
                const int gib = *rc::gen::inRange(1, 17);
                if (gib > left) break;
                left -= gib;
                PodInfo pod =
                    build::pod(node + std::to_string(pods.size()), build::native(gibibytes(gib)));
                pod.priority = *rc::gen::inRange(0, 20);
                pod.terminating = *rc::gen::weightedElement<bool>({{4, false}, {1, true}});
                pod = build::bound(
                    pod, build::allocation(pod, node,
                                           {{GpuUuid("GPU-" + node + "-" + std::to_string(gpu)),
                                             gpu,
                                             gibibytes(gib),
                                             {},
                                             false}}));
                state.set_pod(pod);
                pods.push_back(pod);
            }
        }
    }
    PodInfo waits = build::pod("waits", build::native(gibibytes(*rc::gen::inRange(1, 17))));
    waits.priority = 10;
    PreemptionArgs args{waits, {}};
    for (const char* node : {"a", "b", "gone"}) {
        NodeVictims asked{NodeName(node), {}, 0};
        for (const PodInfo& pod : pods) {
            if (pod.node == asked.node && *rc::gen::weightedElement<bool>({{2, false}, {1, true}}))
                asked.pods.push_back(pod.uid);
        }
        if (*rc::gen::arbitrary<bool>()) asked.pods.emplace_back("uid-of-no-share");
        args.nodes.push_back(std::move(asked));
    }
    const auto nodes = choose_victims(*state.snapshot(), args, build::request(waits));
    reached(!nodes.empty());
    for (const NodeVictims& chosen : nodes) {
        const auto asked = std::ranges::find(args.nodes, chosen.node, &NodeVictims::node);
        RC_ASSERT(asked != args.nodes.end());
        RC_ASSERT(!chosen.pods.empty());
        RC_ASSERT(std::set(chosen.pods.begin(), chosen.pods.end()).size() == chosen.pods.size());
        for (const PodUid& uid : chosen.pods) {
            if (std::ranges::find(asked->pods, uid) != asked->pods.end()) continue;
            const auto pod = std::ranges::find(pods, uid, &PodInfo::uid);
            RC_ASSERT(pod != pods.end());
            RC_ASSERT(pod->node == chosen.node);
            RC_ASSERT(pod->priority < waits.priority);
            RC_ASSERT(!pod->terminating);
        }
    }
}

}  // namespace
}  // namespace tessera

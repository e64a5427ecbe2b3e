// Pending pods, and pods that kube-scheduler nominated to a node.
#include <gtest/gtest.h>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Goal: pods that kube-scheduler does not schedule are not pending: gated pods until their gates
// are gone, and pods that terminate before they are placed.
TEST(PendingPods, WithoutGatedAndEndingOnes) {
    ClusterState state;
    PodInfo pod = build::pod("p", build::aliyun(8));
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

// Goal: a nomination ends together with the pending state: by another node, by none, by deletion,
// by a list without the pod, or when the pod gets GPUs. A node that only nominees name does not
// count as known.
TEST(PendingPods, NominationsEnd) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    PodInfo pod = build::pod("p", build::aliyun(8));
    const auto nominate = [&](const char* node) {
        pod.nominated = NodeName(node);
        state.set_pod(pod);
    };
    const auto nominees = [&] { return state.snapshot()->find("n")->nominees.size(); };
    nominate("n");
    EXPECT_EQ(nominees(), 1U);
    nominate("elsewhere");
    EXPECT_EQ(nominees(), 0U);
    EXPECT_EQ(state.snapshot()->find("elsewhere"), nullptr);
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
    const auto made = state.reserve(build::request(pod), NodeName("n"));
    ASSERT_TRUE(made);
    EXPECT_EQ(nominees(), 0U);
    EXPECT_EQ(state.snapshot()->find("n")->gpus[0].allocated, gibibytes(8));
    state.refuse(made->attempt);
    EXPECT_EQ(state.snapshot()->find("n")->gpus[0].allocated, Bytes{});
    EXPECT_EQ(nominees(), 1U) << "it is pending again";
}

// Goal: a pod whose Binding fails is pending again, with what the watch has shown since. A pod that
// is gone, or that was observed as bound, is not.
TEST(PendingPods, RefusedBindings) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    PodInfo pod = build::pod("p", build::aliyun(8));
    state.set_pod(pod);
    const auto reserve = [&] { return state.reserve(build::request(pod), NodeName("n"))->attempt; };
    EXPECT_TRUE(
        state.reserve_node(pod.uid, NodeName("n"), ReservedBy::preemption, {PodUid("victim")}));
    const Attempt first = reserve();
    EXPECT_EQ(state.pending_count(), 0U);
    state.release(first);
    ASSERT_NE(state.pending(pod.uid), nullptr);
    EXPECT_EQ(state.pending(pod.uid)->reserved_node, NodeName("n"));
    EXPECT_EQ(state.pending(pod.uid)->victims.size(), 1U);

    const Attempt second = reserve();
    pod.nominated = NodeName("elsewhere");
    state.set_pod(pod);
    EXPECT_EQ(state.pending_count(), 0U);
    state.refuse(second);
    ASSERT_NE(state.pending(pod.uid), nullptr);
    EXPECT_EQ(state.pending(pod.uid)->reserved_on(), NodeName("elsewhere"));

    const Attempt third = reserve();
    pod.terminating = true;
    state.set_pod(pod);
    state.refuse(third);
    EXPECT_EQ(state.pending(pod.uid), nullptr);
    pod.terminating = false;
    state.set_pod(pod);

    const Attempt fourth = reserve();
    state.confirm(fourth);
    state.keep_only_pods({});
    state.release_unconfirmed();
    EXPECT_EQ(state.pending(pod.uid), nullptr) << "a list did not have it";
    state.set_pod(pod);

    const auto fifth = state.reserve(build::request(pod), NodeName("n"));
    ASSERT_TRUE(fifth);
    state.set_pod(build::bound(pod, fifth->allocation));
    state.release(fifth->attempt);
    EXPECT_EQ(state.pending(pod.uid), nullptr) << "it is bound";
}

// Goal: a reservation has the effect of a nomination. It ends with the pending state, with a
// nomination to another node, or when it is released. A nomination to the same node may come and
// go.
TEST(PendingPods, Reservations) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    PodInfo pod = build::pod("p", build::aliyun(8));
    const auto nominees = [&] { return state.snapshot()->find("n")->nominees.size(); };
    const auto nominate = [&](const char* node) {
        pod.nominated = NodeName(node);
        state.set_pod(pod);
    };
    const auto reserve = [&] {
        return state.reserve_node(pod.uid, NodeName("n"), ReservedBy::preemption);
    };
    EXPECT_FALSE(reserve()) << "the pod is unknown";
    state.set_pod(pod);
    EXPECT_TRUE(reserve());
    EXPECT_EQ(nominees(), 1U);
    state.set_pod(pod);
    nominate("n");
    nominate("");
    EXPECT_EQ(nominees(), 1U);
    state.give_up(pod.uid);
    EXPECT_EQ(nominees(), 0U);

    EXPECT_TRUE(reserve());
    nominate("elsewhere");
    EXPECT_EQ(nominees(), 0U);
    EXPECT_TRUE(reserve()) << "the caller knows the nomination";
    EXPECT_EQ(nominees(), 1U);
    nominate("elsewhere");
    EXPECT_EQ(nominees(), 1U) << "nothing changed";
    nominate("");

    EXPECT_TRUE(reserve());
    ASSERT_TRUE(state.reserve(build::request(pod), NodeName("n")));
    EXPECT_EQ(nominees(), 0U);
    EXPECT_FALSE(reserve()) << "it has its GPUs";

    const PodInfo senseless = build::pod("q", build::aliyun(-1));
    state.set_pod(senseless);
    EXPECT_FALSE(state.reserve_node(senseless.uid, NodeName("n"), ReservedBy::preemption));
}

// Goal: a released reservation or nomination keeps no GPUs, even if the API server still shows it.
// A later nomination or reservation counts again.
TEST(PendingPods, GivenUp) {
    ClusterState state;
    PodInfo pod = build::pod("p", build::aliyun(8));
    const auto nominate = [&](const char* node) {
        pod.nominated = NodeName(node);
        state.set_pod(pod);
    };
    const auto reserved_on = [&] { return state.pending(pod.uid)->reserved_on().str(); };
    state.give_up(pod.uid);
    nominate("n");
    EXPECT_EQ(reserved_on(), "n");
    state.give_up(pod.uid);
    EXPECT_EQ(reserved_on(), "");
    nominate("n");
    EXPECT_EQ(reserved_on(), "");
    nominate("m");
    EXPECT_EQ(reserved_on(), "m");
    state.give_up(pod.uid);
    nominate("");
    nominate("m");
    EXPECT_EQ(reserved_on(), "m") << "a new nomination";

    state.give_up(pod.uid);
    EXPECT_TRUE(state.reserve_node(pod.uid, NodeName("n"), ReservedBy::preemption));
    EXPECT_EQ(reserved_on(), "n");
    state.give_up(pod.uid);
    EXPECT_EQ(reserved_on(), "") << "the older one stays released";
    EXPECT_TRUE(state.reserve_node(pod.uid, NodeName("m"), ReservedBy::preemption));
    EXPECT_EQ(reserved_on(), "m");
}

// Goal: a nomination ahead of its turn counts as such until it is given up. One of kube-scheduler
// to the same node ends the reservation ahead: pods may be evicted for the pod.
TEST(PendingPods, NominatedAhead) {
    ClusterState state;
    PodInfo pod = build::pod("p", build::aliyun(8));
    const auto show = [&](const char* node, bool is_ahead) {
        pod.nominated = NodeName(node);
        pod.is_nominated_ahead = is_ahead;
        state.set_pod(pod);
    };
    const auto is_ahead = [&] { return state.pending(pod.uid)->is_nominated_ahead(); };
    show("n", true);
    EXPECT_TRUE(is_ahead());
    state.give_up(pod.uid);
    EXPECT_FALSE(is_ahead());
    show("", false);
    state.reserve_node(pod.uid, NodeName("n"), ReservedBy::nominator);
    EXPECT_TRUE(is_ahead());
    show("n", true);
    EXPECT_TRUE(is_ahead());
    EXPECT_EQ(state.pending(pod.uid)->reserved_node, NodeName("n"));

    show("", false);
    show("n", false);
    EXPECT_FALSE(is_ahead());
    EXPECT_EQ(state.pending(pod.uid)->reserved_node, NodeName());
    EXPECT_EQ(state.pending(pod.uid)->reserved_on(), NodeName("n"));
}

// Goal: the reservation of a pod that is being bound can be released.
TEST(PendingPods, GivenUpWhileBeingBound) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    const PodInfo pod = build::pod("p", build::aliyun(8));
    state.set_pod(pod);
    EXPECT_EQ(state.being_bound(pod.uid), nullptr);
    EXPECT_TRUE(
        state.reserve_node(pod.uid, NodeName("m"), ReservedBy::preemption, {PodUid("victim")}));
    const auto made = state.reserve(build::request(pod), NodeName("n"));
    ASSERT_NE(state.being_bound(pod.uid), nullptr);
    EXPECT_EQ(state.being_bound(pod.uid)->reserved_node, NodeName("m"));
    state.give_up(pod.uid);
    state.refuse(made->attempt);
    EXPECT_EQ(state.being_bound(pod.uid), nullptr);
    EXPECT_EQ(state.pending(pod.uid)->reserved_on(), NodeName());
    EXPECT_TRUE(state.pending(pod.uid)->victims.empty());
}

// Goal: victims count as terminating as long as the reservation exists, whatever the API server
// shows. So no pod takes the GPU of the first victim before the last one is evicted.
TEST(PendingPods, VictimsOfAReservation) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    for (const char* name : {"x", "y"}) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(8)));
        state.set_pod(build::bound(
            pod, build::allocation(pod, "n", {{GpuUuid("GPU-n-0"), 0, gibibytes(8), {}, false}})));
    }
    PodInfo high = build::pod("high", build::native(gibibytes(16)));
    high.priority = 10;
    state.set_pod(high);
    EXPECT_TRUE(state.reserve_node(high.uid, NodeName("n"), ReservedBy::preemption,
                                   {PodUid("uid-x"), PodUid("uid-y")}));
    state.remove_pod(PodUid("uid-x"));
    const auto assigned_pods = state.snapshot()->find("n")->assigned_pods;
    ASSERT_EQ(assigned_pods.size(), 1U);
    EXPECT_TRUE(assigned_pods[0]->terminating);
    const PodInfo instead = build::pod("x2", build::native(gibibytes(8)));
    const auto refused = state.reserve(build::request(instead), NodeName("n"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("reserved for pod default/high"), std::string::npos);
    state.give_up(high.uid);
    EXPECT_FALSE(state.snapshot()->find("n")->assigned_pods[0]->terminating);
    EXPECT_TRUE(state.reserve(build::request(instead), NodeName("n")));
}

// Goal: a nominee keeps its reservation while its node is away and comes back.
TEST(PendingPods, NominationsOutliveTheirNode) {
    ClusterState state;
    PodInfo pod = build::pod("p", build::aliyun(8));
    pod.nominated = NodeName("n");
    state.set_pod(pod);
    state.set_node(build::node("n", 1, gibibytes(16)));
    state.remove_node(NodeName("n"));
    state.set_node(build::node("n", 1, gibibytes(16)));
    EXPECT_EQ(state.snapshot()->find("n")->nominees.size(), 1U);
}

}  // namespace
}  // namespace tessera

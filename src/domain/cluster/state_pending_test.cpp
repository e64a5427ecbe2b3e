// Pods that wait for a node, and those that kube-scheduler nominated to one.
#include <gtest/gtest.h>

#include "domain/cluster/state.hpp"
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
    const auto made = state.reserve(build::ask(pod), NodeName("n"));
    ASSERT_TRUE(made);
    EXPECT_EQ(nominees(), 0U);
    EXPECT_EQ(state.view()->find("n")->cards[0].held, gibibytes(8));
    state.refuse(made->attempt);
    EXPECT_EQ(state.view()->find("n")->cards[0].held, Bytes{});
    EXPECT_EQ(nominees(), 1U) << "it waits as before";
}

// Goal: a pod whose Binding comes to nothing waits as it did, with what the watch has shown since;
// one that is gone, or that is seen bound, does not come back.
TEST(PendingPods, RefusedBindings) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    PodFacts pod = build::pod("p", build::aliyun(8));
    state.set_pod(pod);
    const auto reserve = [&] { return state.reserve(build::ask(pod), NodeName("n"))->attempt; };
    EXPECT_TRUE(state.promise(pod.uid, NodeName("n"), {PodUid("victim")}));
    const Attempt first = reserve();
    EXPECT_EQ(state.pending_count(), 0U);
    state.release(first);
    ASSERT_NE(state.pending(pod.uid), nullptr);
    EXPECT_EQ(state.pending(pod.uid)->promised, NodeName("n"));
    EXPECT_EQ(state.pending(pod.uid)->victims.size(), 1U);

    const Attempt second = reserve();
    pod.nominated = NodeName("elsewhere");
    state.set_pod(pod);
    EXPECT_EQ(state.pending_count(), 0U);
    state.refuse(second);
    ASSERT_NE(state.pending(pod.uid), nullptr);
    EXPECT_EQ(state.pending(pod.uid)->kept_on(), NodeName("elsewhere"));

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

    const auto fifth = state.reserve(build::ask(pod), NodeName("n"));
    ASSERT_TRUE(fifth);
    state.set_pod(build::bound(pod, fifth->allocation));
    state.release(fifth->attempt);
    EXPECT_EQ(state.pending(pod.uid), nullptr) << "it is bound";
}

// Goal: a promise keeps room as a nomination does; it ends with the waiting, with a nomination
// elsewhere, or when it is taken back; one to the same node may come and go.
TEST(PendingPods, Promises) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    PodFacts pod = build::pod("p", build::aliyun(8));
    const auto nominees = [&] { return state.view()->find("n")->nominees.size(); };
    const auto nominate = [&](const char* node) {
        pod.nominated = NodeName(node);
        state.set_pod(pod);
    };
    const auto promise = [&] { return state.promise(pod.uid, NodeName("n"), {}); };
    EXPECT_FALSE(promise()) << "nobody knows it";
    state.set_pod(pod);
    EXPECT_TRUE(promise());
    EXPECT_EQ(nominees(), 1U);
    state.set_pod(pod);
    nominate("n");
    nominate("");
    EXPECT_EQ(nominees(), 1U);
    state.give_up(pod.uid);
    EXPECT_EQ(nominees(), 0U);

    EXPECT_TRUE(promise());
    nominate("elsewhere");
    EXPECT_EQ(nominees(), 0U);
    EXPECT_TRUE(promise()) << "what was made of the nomination is known to whoever promises";
    EXPECT_EQ(nominees(), 1U);
    nominate("elsewhere");
    EXPECT_EQ(nominees(), 1U) << "that is no news";
    nominate("");

    EXPECT_TRUE(promise());
    ASSERT_TRUE(state.reserve(build::ask(pod), NodeName("n")));
    EXPECT_EQ(nominees(), 0U);
    EXPECT_FALSE(promise()) << "it has its cards";

    PodFacts senseless = build::pod("q", build::aliyun(8));
    senseless.containers[0].limits[0].second = "-1";
    state.set_pod(senseless);
    EXPECT_FALSE(state.promise(senseless.uid, NodeName("n"), {}));
}

// Goal: what came to nothing keeps no room though the API server still shows it; whatever is
// nominated or promised afterwards counts again.
TEST(PendingPods, GivenUp) {
    ClusterState state;
    PodFacts pod = build::pod("p", build::aliyun(8));
    const auto nominate = [&](const char* node) {
        pod.nominated = NodeName(node);
        state.set_pod(pod);
    };
    const auto kept_on = [&] { return state.pending(pod.uid)->kept_on().str(); };
    state.give_up(pod.uid);
    nominate("n");
    EXPECT_EQ(kept_on(), "n");
    state.give_up(pod.uid);
    EXPECT_EQ(kept_on(), "");
    nominate("n");
    EXPECT_EQ(kept_on(), "");
    nominate("m");
    EXPECT_EQ(kept_on(), "m");
    state.give_up(pod.uid);
    nominate("");
    nominate("m");
    EXPECT_EQ(kept_on(), "m") << "a nomination anew";

    state.give_up(pod.uid);
    EXPECT_TRUE(state.promise(pod.uid, NodeName("n"), {}));
    EXPECT_EQ(kept_on(), "n");
    state.give_up(pod.uid);
    EXPECT_EQ(kept_on(), "") << "the older one is not good again";
    EXPECT_TRUE(state.promise(pod.uid, NodeName("m"), {}));
    EXPECT_EQ(kept_on(), "m");
}

// Goal: what is promised to a pod that is being bound can be taken back.
TEST(PendingPods, GivenUpWhileBeingBound) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    const PodFacts pod = build::pod("p", build::aliyun(8));
    state.set_pod(pod);
    EXPECT_EQ(state.set_aside(pod.uid), nullptr);
    EXPECT_TRUE(state.promise(pod.uid, NodeName("m"), {PodUid("victim")}));
    const auto made = state.reserve(build::ask(pod), NodeName("n"));
    ASSERT_NE(state.set_aside(pod.uid), nullptr);
    EXPECT_EQ(state.set_aside(pod.uid)->promised, NodeName("m"));
    state.give_up(pod.uid);
    state.refuse(made->attempt);
    EXPECT_EQ(state.set_aside(pod.uid), nullptr);
    EXPECT_EQ(state.pending(pod.uid)->kept_on(), NodeName());
    EXPECT_TRUE(state.pending(pod.uid)->victims.empty());
}

// Goal: victims count as ending as long as the promise stands, whatever the API server shows; so
// nobody takes the room of the first before the last is told.
TEST(PendingPods, VictimsOfAPromise) {
    ClusterState state;
    state.set_node(build::node("n", 1, gibibytes(16)));
    for (const char* name : {"x", "y"}) {
        const PodFacts pod = build::pod(name, build::native(gibibytes(8)));
        state.set_pod(build::bound(
            pod, build::allocation(pod, "n", {{GpuUuid("GPU-n-0"), 0, gibibytes(8), {}, false}})));
    }
    PodFacts high = build::pod("high", build::native(gibibytes(16)));
    high.priority = 10;
    state.set_pod(high);
    EXPECT_TRUE(state.promise(high.uid, NodeName("n"), {PodUid("uid-x"), PodUid("uid-y")}));
    state.remove_pod(PodUid("uid-x"));
    const auto tenants = state.view()->find("n")->tenants;
    ASSERT_EQ(tenants.size(), 1U);
    EXPECT_TRUE(tenants[0]->terminating);
    const PodFacts instead = build::pod("x2", build::native(gibibytes(8)));
    const auto refused = state.reserve(build::ask(instead), NodeName("n"));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("kept for pod default/high"), std::string::npos);
    state.give_up(high.uid);
    EXPECT_FALSE(state.view()->find("n")->tenants[0]->terminating);
    EXPECT_TRUE(state.reserve(build::ask(instead), NodeName("n")));
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

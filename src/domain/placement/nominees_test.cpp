#include "domain/placement/nominees.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "domain/placement/place.hpp"
#include "domain/placement/victims.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"
#include "testing/builders/reaching_prop.hpp"

namespace tessera {
namespace {

// A node "n" of GPUs of 16 GiB.
class Nominees : public ::testing::Test {
  protected:
    void gpus(int count) { state_.set_node(build::node("n", count, gibibytes(16))); }

    PodInfo holder(const std::string& name, int gpu, int gib, bool terminating = false) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.terminating = terminating;
        const GpuUuid uuid("GPU-n-" + std::to_string(gpu));
        pod = build::bound(pod, build::allocation(pod, "n", {{uuid, gpu, gibibytes(gib)}}));
        state_.set_pod(pod);
        return pod;
    }
    PodInfo nominee(const std::string& name, int gib, int priority, const std::string& node = "n") {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.priority = priority;
        pod.nominated = NodeName(node);
        state_.set_pod(pod);
        return pod;
    }
    // Whether a pod with that request could be placed; `name` may be that of a nominee.
    bool fits(int gib, int priority, const std::string& name = "asks") {
        PodRequest pod = build::request(build::pod(name, build::native(gibibytes(gib))));
        pod.priority = priority;
        const auto snapshot = state_.snapshot();
        const NodeInfo& node = *snapshot->find("n");
        Placer placer(pod.containers);
        return try_left(placer, node, {pod.uid, pod.priority}) != nullptr;
    }

    ClusterState state_;
};

// Goal: a pod that is not above the nominee gets what the nominee leaves, before the victims are
// gone and after. A pod above it, and the nominee itself, get everything.
TEST_F(Nominees, KeptFromTheirEquals) {
    gpus(1);
    const PodInfo ending = holder("ending", 0, 12, true);
    nominee("first", 14, 10);
    for (const bool gone : {false, true}) {
        SCOPED_TRACE(gone);
        EXPECT_TRUE(fits(2, 10));
        EXPECT_FALSE(fits(3, 10));
        EXPECT_FALSE(fits(3, 0));
        EXPECT_TRUE(fits(3, 11));
        EXPECT_TRUE(fits(4, 10, "first"));
        EXPECT_EQ(fits(16, 11), gone);
        state_.remove_pod(ending.uid);
    }
}

// Goal: of two equal nominees of one node the first by uid goes first; they do not wait for each
// other. Other pods of their priority wait for both.
TEST_F(Nominees, EqualsDoNotWaitForEachOther) {
    gpus(1);
    nominee("a", 14, 10);
    nominee("b", 14, 10);
    EXPECT_TRUE(fits(14, 10, "a"));
    EXPECT_FALSE(fits(14, 10, "b"));
    EXPECT_FALSE(fits(14, 10));
}

// Goal: a nominee that would not fit even without the terminating pods has no reservation.
TEST_F(Nominees, OneThatCannotComeKeepsNothing) {
    gpus(1);
    holder("stays", 0, 8);
    nominee("large", 9, 10);
    EXPECT_TRUE(fits(8, 0));
}

// Goal: of several nominees the highest priority is placed first; the other keeps what is left,
// against pods of its own priority.
TEST_F(Nominees, Several) {
    gpus(2);
    nominee("second", 10, 10);
    nominee("first", 9, 20);
    EXPECT_TRUE(fits(7, 0));
    EXPECT_FALSE(fits(8, 0));
    EXPECT_TRUE(fits(16, 15, "other")) << "the second is below it";
    EXPECT_FALSE(fits(16, 10, "other"));
}

// Goal: no other pod gets a whole GPU that is reserved for a nominee, nor a share of it.
TEST_F(Nominees, WholeGpus) {
    gpus(1);
    PodInfo pod = build::pod("first", build::whole());
    pod.priority = 10;
    pod.nominated = NodeName("n");
    state_.set_pod(pod);
    EXPECT_FALSE(fits(1, 10));
    EXPECT_TRUE(fits(1, 11));
}

// Goal: a pod that was nominated ahead of its turn does not keep an older pod of its priority
// waiting, in filter, bind or preemption. It does so for younger pods, and for pods below it.
TEST_F(Nominees, AheadOfTheirTurn) {
    gpus(1);
    PodInfo ahead = build::pod("ahead", build::native(gibibytes(14)));
    ahead.priority = 10;
    ahead.created = "2026-01-02T00:00:00Z";
    state_.set_pod(ahead);
    ASSERT_TRUE(state_.reserve_node(ahead.uid, NodeName("n"), ReservedBy::nominator));
    const auto fits = [&](const char* created, int priority) {
        PodInfo info = build::pod("asks", build::native(gibibytes(3)));
        info.created = created;
        info.priority = priority;
        const PodRequest pod = build::request(info);
        const auto snapshot = state_.snapshot();
        const NodeInfo& node = *snapshot->find("n");
        Placer placer(pod.containers);
        const bool is_fit = try_left(placer, node, {pod.uid, priority, pod.created}) != nullptr;
        EXPECT_EQ(plan_preemption(node, pod).kind == Preemption::Kind::fits, is_fit);
        ClusterState copy = state_;
        EXPECT_EQ(copy.reserve(pod, NodeName("n")).has_value(), is_fit);
        return is_fit;
    };
    EXPECT_TRUE(fits("2026-01-02T00:00:00Z", 10)) << "perhaps it is older by less than a second";
    EXPECT_FALSE(fits("2026-01-02T00:00:01Z", 10));
    EXPECT_FALSE(fits("2026-01-03T00:00:00Z", 10));
    EXPECT_FALSE(fits("2026-01-01T00:00:00Z", 9));
    EXPECT_TRUE(fits("2026-01-03T00:00:00Z", 11));
}

// Goal: bind refuses what filter would refuse, with the nominee's name.
TEST_F(Nominees, ReserveSaysForWhom) {
    gpus(1);
    nominee("first", 14, 10);
    const auto made =
        state_.reserve(build::request(build::pod("p", build::native(gibibytes(3)))), NodeName("n"));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::unavailable);
    EXPECT_EQ(made.error().text,
              "GPUs of this node are reserved for pod default/first of priority 10");
}

// Goal: at bind and at a resize, a user sees neither the name nor the priority of a nominee in
// another namespace. A user that may see all pods sees both.
TEST_F(Nominees, AreNotNamedToOtherNamespaces) {
    gpus(1);
    PodInfo first = build::pod("secret-pod", build::native(gibibytes(14)));
    first.name.ns = "secret-team";
    first.priority = 1'234;
    first.nominated = NodeName("n");
    state_.set_pod(first);
    const PodRequest pod = build::request(build::pod("p", build::native(gibibytes(3))));
    const auto made = state_.reserve(pod, NodeName("n"));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().text, "GPUs of this node are reserved for a pod of another namespace");
    const auto snapshot = state_.snapshot();
    EXPECT_NE(reserved_for(*snapshot->find("n"), {pod.uid, pod.priority}, Reader::of_all())
                  .find("secret-team/secret-pod of priority 1234"),
              std::string::npos);
}

// Goal: the text of a refusal never aborts the program, whatever the node has become meanwhile.
TEST_F(Nominees, AReasonWithoutANominee) {
    gpus(1);
    const PodUid uid("p");
    EXPECT_NE(reserved_for(*state_.snapshot()->find("n"), {uid, 0}, Reader::of("default")), "");
}

// Goal: a pod of the nominee's priority preempts other pods; a pod above it may take the reserved
// GPU.
TEST_F(Nominees, PreemptionLeavesThemTheirRoom) {
    gpus(2);
    holder("low", 1, 16);
    nominee("first", 16, 10);
    PodInfo pod = build::pod("second", build::native(gibibytes(16)));
    pod.priority = 10;
    const auto plan = [&] {
        return plan_preemption(*state_.snapshot()->find("n"), build::request(pod)).kind;
    };
    EXPECT_EQ(plan(), Preemption::Kind::evict);
    pod.priority = 11;
    EXPECT_EQ(plan(), Preemption::Kind::fits);
}

// Goal: whatever later pods receive, the nominee fits once the terminating pods are gone, if it did
// before. Method: random pods, some terminating, then random requests, all reserved.
REACHING_PROP(NomineesProperty, NobodyTakesTheirRoom) {
    const int gpus = *rc::gen::inRange(1, 4);
    ClusterState state;
    state.set_node(build::node("n", gpus, gibibytes(16)));
    std::vector<PodUid> ending;
    const auto some_pod = [](const std::string& name) {
        const int gib = *rc::gen::inRange(1, 17);
        return build::pod(
            name, *rc::gen::element(build::native(gibibytes(gib)), build::native(gibibytes(gib), 2),
                                    build::whole()));
    };
    for (int i = 0; i < 6; ++i) {
        PodInfo pod = some_pod("holder-" + std::to_string(i));
        const auto made = state.reserve(build::request(pod), NodeName("n"));
        if (!made) continue;
        pod.terminating = *rc::gen::arbitrary<bool>();
        state.set_pod(build::bound(pod, made->allocation));
        if (pod.terminating) ending.push_back(pod.uid);
    }
    PodInfo nominee = some_pod("nominee");
    nominee.priority = 10;
    nominee.nominated = NodeName("n");
    state.set_pod(nominee);
    const PodRequest request = build::request(nominee);
    const auto fits_in_the_end = [&] {
        ClusterState later = state;
        for (const PodUid& uid : ending)
            later.remove_pod(uid);
        Placer placer(request.containers);
        return placer.try_node(later.snapshot()->find("n")->node_gpus()) != nullptr;
    };
    const bool fitted = fits_in_the_end();
    int placed = 0;
    for (int i = 0; i < 6; ++i) {
        PodInfo pod = some_pod("after-" + std::to_string(i));
        pod.priority = *rc::gen::inRange(0, 11);
        placed += state.reserve(build::request(pod), NodeName("n")) ? 1 : 0;
        RC_ASSERT(fits_in_the_end() == fitted);
    }
    reached(fitted && placed > 0);
}

}  // namespace
}  // namespace tessera

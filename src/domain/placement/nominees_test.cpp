#include "domain/placement/nominees.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/cluster/state.hpp"
#include "domain/placement/place.hpp"
#include "domain/placement/victims.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// A node "n" of cards of 16 GiB.
class Nominees : public ::testing::Test {
  protected:
    void cards(int count) { state_.set_node(build::node("n", count, gibibytes(16))); }

    PodFacts holder(const std::string& name, int card, int gib, bool terminating = false) {
        PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        pod.terminating = terminating;
        const GpuUuid uuid("GPU-n-" + std::to_string(card));
        pod = build::bound(pod, build::allocation(pod, "n", {{uuid, card, gibibytes(gib)}}));
        state_.set_pod(pod);
        return pod;
    }
    PodFacts nominee(const std::string& name, int gib, int priority,
                     const std::string& node = "n") {
        PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        pod.priority = priority;
        pod.nominated = NodeName(node);
        state_.set_pod(pod);
        return pod;
    }
    // Whether a pod with that request could be placed; `name` may be a nominee's.
    bool fits(int gib, int priority, const std::string& name = "asks") {
        PodAsk pod = build::ask(build::pod(name, build::native(gibibytes(gib))));
        pod.priority = priority;
        const auto view = state_.view();
        const NodeView& node = *view->find("n");
        Placer placer(pod.request);
        return try_left(placer, node, {pod.uid, pod.priority}) != nullptr;
    }

    ClusterState state_;
};

// Goal: who is not above the nominee gets what the nominee leaves, before the others are gone and
// after; who is above it, and the nominee itself, get all there is.
TEST_F(Nominees, KeptFromTheirEquals) {
    cards(1);
    const PodFacts ending = holder("ending", 0, 12, true);
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

// Goal: of two equals that are nominated to one node the first by uid goes first; they do not wait
// for each other. Others of their priority wait for both.
TEST_F(Nominees, EqualsDoNotWaitForEachOther) {
    cards(1);
    nominee("a", 14, 10);
    nominee("b", 14, 10);
    EXPECT_TRUE(fits(14, 10, "a"));
    EXPECT_FALSE(fits(14, 10, "b"));
    EXPECT_FALSE(fits(14, 10));
}

// Goal: one that would not fit even if all that is ending were gone keeps nothing.
TEST_F(Nominees, OneThatCannotComeKeepsNothing) {
    cards(1);
    holder("stays", 0, 8);
    nominee("large", 9, 10);
    EXPECT_TRUE(fits(8, 0));
}

// Goal: the more important of several nominees is placed first; the other, among the equals, keeps
// what is left.
TEST_F(Nominees, Several) {
    cards(2);
    nominee("second", 10, 10);
    nominee("first", 9, 20);
    EXPECT_TRUE(fits(7, 0));
    EXPECT_FALSE(fits(8, 0));
    EXPECT_TRUE(fits(16, 15, "other")) << "the second is below it";
    EXPECT_FALSE(fits(16, 10, "other"));
}

// Goal: a whole card that is kept for a nominee is nobody else's whole card, and a nominee's whole
// card has no share to give.
TEST_F(Nominees, WholeCards) {
    cards(1);
    PodFacts pod = build::pod("first", build::whole());
    pod.priority = 10;
    pod.nominated = NodeName("n");
    state_.set_pod(pod);
    EXPECT_FALSE(fits(1, 10));
    EXPECT_TRUE(fits(1, 11));
}

// Goal: what filter would refuse, bind refuses, with the nominee's name.
TEST_F(Nominees, ReserveSaysForWhom) {
    cards(1);
    nominee("first", 14, 10);
    const auto made =
        state_.reserve(build::ask(build::pod("p", build::native(gibibytes(3)))), NodeName("n"));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::unavailable);
    EXPECT_EQ(
        made.error().text,
        "the room on this node is kept for pod default/first of priority 10, for which others "
        "are ended");
}

// Goal: a user reads of a nominee in another namespace neither its name nor its priority, at bind
// and at a resize; who sees all pods reads both.
TEST_F(Nominees, AreNotNamedToOtherNamespaces) {
    cards(1);
    PodFacts first = build::pod("secret-pod", build::native(gibibytes(14)));
    first.name.space = "secret-team";
    first.priority = 1'234;
    first.nominated = NodeName("n");
    state_.set_pod(first);
    const PodAsk pod = build::ask(build::pod("p", build::native(gibibytes(3))));
    const auto made = state_.reserve(pod, NodeName("n"));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().text,
              "the room on this node is kept for a pod of another namespace, for which others are "
              "ended");
    const auto view = state_.view();
    EXPECT_NE(kept_for(*view->find("n"), {pod.uid, pod.priority}, Reader::of_all())
                  .find("secret-team/secret-pod of priority 1234"),
              std::string::npos);
}

// Goal: the words of a refusal never end the program, whatever the node has become meanwhile.
TEST_F(Nominees, AReasonWithoutANominee) {
    cards(1);
    const PodUid uid("p");
    EXPECT_NE(kept_for(*state_.view()->find("n"), {uid, 0}, Reader::of("default")), "");
}

// Goal: a pod of the nominee's priority makes room of its own; one above it may take the kept one.
TEST_F(Nominees, PreemptionLeavesThemTheirRoom) {
    cards(2);
    holder("low", 1, 16);
    nominee("first", 16, 10);
    PodFacts pod = build::pod("second", build::native(gibibytes(16)));
    pod.priority = 10;
    const auto plan = [&] {
        return plan_preemption(*state_.view()->find("n"), build::ask(pod)).kind;
    };
    EXPECT_EQ(plan(), Preemption::Kind::evict);
    pod.priority = 11;
    EXPECT_EQ(plan(), Preemption::Kind::fits);
}

// Goal: whatever pods that come after it are given, the nominee fits once those that are ending are
// gone, if it did before. Method: random holders, some ending, then random requests, all reserved.
RC_GTEST_PROP(NomineesProperty, NobodyTakesTheirRoom, ()) {
    const int cards = *rc::gen::inRange(1, 4);
    ClusterState state;
    state.set_node(build::node("n", cards, gibibytes(16)));
    std::vector<PodUid> ending;
    const auto some_pod = [](const std::string& name) {
        const int gib = *rc::gen::inRange(1, 17);
        return build::pod(
            name, *rc::gen::element(build::native(gibibytes(gib)), build::native(gibibytes(gib), 2),
                                    build::whole()));
    };
    for (int i = 0; i < 6; ++i) {
        PodFacts pod = some_pod("holder-" + std::to_string(i));
        const auto made = state.reserve(build::ask(pod), NodeName("n"));
        if (!made) continue;
        pod.terminating = *rc::gen::arbitrary<bool>();
        state.set_pod(build::bound(pod, made->allocation));
        if (pod.terminating) ending.push_back(pod.uid);
    }
    PodFacts nominee = some_pod("nominee");
    nominee.priority = 10;
    nominee.nominated = NodeName("n");
    state.set_pod(nominee);
    const PodAsk ask = build::ask(nominee);
    const auto fits_in_the_end = [&] {
        ClusterState later = state;
        for (const PodUid& uid : ending)
            later.remove_pod(uid);
        Placer placer(ask.request);
        return placer.try_node(later.view()->find("n")->offer()) != nullptr;
    };
    const bool fitted = fits_in_the_end();
    int placed = 0;
    for (int i = 0; i < 6; ++i) {
        PodFacts pod = some_pod("after-" + std::to_string(i));
        pod.priority = *rc::gen::inRange(0, 11);
        placed += state.reserve(build::ask(pod), NodeName("n")) ? 1 : 0;
        RC_ASSERT(fits_in_the_end() == fitted);
    }
    RC_CLASSIFY(fitted && placed > 0, "some were placed beside it");
}

}  // namespace
}  // namespace tessera

// Goal: while a pod is resized no other pod can get what it may have. What it releases is free only
// after the API server has shown it. Method: a GPU of 16 GiB, and a list, a watch, a bind and a
// resize in each order.
#include <gtest/gtest.h>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class StateResize : public ::testing::Test {
  protected:
    StateResize() { state_.set_node(build::node("n1", 1, gibibytes(16))); }

    PodInfo runs(const std::string& name, int gib, int cores = 0) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        const GpuShare share{
            .uuid = GpuUuid("GPU-n1-0"), .memory = gibibytes(gib), .cores = {cores}};
        pod = build::bound(pod, build::allocation(pod, "n1", {share}));
        pod.is_guarded = true;
        state_.set_pod(pod);
        return pod;
    }
    static PodInfo with_resize_request(PodInfo pod, int gib) {
        pod.resize = RequestedShares{{{"main", gibibytes(gib), {}, {}}}};
        return pod;
    }
    static PodInfo resized(PodInfo pod, const ResizeDecision& decision) {
        pod.allocation = decision.after;
        return pod;
    }
    Result<ResizeDecision> begin(const PodInfo& pod, bool is_over = true) {
        return state_.begin_resize(pod, is_over);
    }
    Result<Reservation> bind(const std::string& name, int gib) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        return state_.reserve(build::request(pod), NodeName("n1"));
    }
    std::int64_t allocated() {
        return state_.snapshot()->find("n1")->gpus[0].allocated.count / kGiB;
    }

    ClusterState state_;
};

TEST_F(StateResize, AGrowthIsReservedUntilItIsSeen) {
    const PodInfo pod = with_resize_request(runs("p", 4), 10);
    const auto decision = begin(pod);
    ASSERT_TRUE(decision) << decision.error().text;
    EXPECT_EQ(decision->kind, ResizeDecision::Kind::write);
    EXPECT_EQ(decision->after.revision, 1);
    EXPECT_EQ(allocated(), 10);
    EXPECT_FALSE(bind("other", 7));
    EXPECT_TRUE(state_.set_pod(resized(pod, *decision)));
    EXPECT_EQ(allocated(), 10);
    EXPECT_EQ(begin(resized(pod, *decision))->kind, ResizeDecision::Kind::done);
    state_.remove_pod(pod.uid);
    EXPECT_EQ(allocated(), 0);
}

// The earlier decision is replaced by the new one: nothing of it may be read any more
// (AddressSanitizer).
TEST_F(StateResize, AWriteThatIsOverIsJudgedAnew) {
    PodInfo pod = with_resize_request(runs("p", 4), 10);
    ASSERT_TRUE(begin(pod));
    const auto seen_meanwhile = state_.snapshot();
    pod.terminating = true;
    state_.set_pod(pod);
    const auto decision = begin(pod, true);
    ASSERT_TRUE(decision) << decision.error().text;
    EXPECT_EQ(decision->kind, ResizeDecision::Kind::write);
    EXPECT_EQ(allocated(), 10);
}

TEST_F(StateResize, WhatIsGivenBackIsFreeOnceSeen) {
    const PodInfo pod = with_resize_request(runs("p", 10), 4);
    const auto decision = begin(pod);
    ASSERT_TRUE(decision);
    EXPECT_EQ(allocated(), 10);
    EXPECT_FALSE(bind("other", 12));
    state_.set_pod(resized(pod, *decision));
    EXPECT_EQ(allocated(), 4);
    EXPECT_TRUE(bind("other", 12));
}

TEST_F(StateResize, ABindThatIsUnderWayHasItsRoom) {
    const PodInfo pod = with_resize_request(runs("p", 4), 10);
    ASSERT_TRUE(bind("other", 7));
    const auto decision = begin(pod);
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, Code::unavailable);
    EXPECT_EQ(allocated(), 11);
}

TEST_F(StateResize, TwoGrowthsNeverHaveTheSameRoom) {
    const PodInfo first = with_resize_request(runs("p", 4), 10);
    const PodInfo second = with_resize_request(runs("q", 4), 10);
    EXPECT_TRUE(begin(first));
    EXPECT_FALSE(begin(second));
    EXPECT_EQ(allocated(), 14);
}

TEST_F(StateResize, ItIsHeldUntilItIsSureNotToHappen) {
    const PodInfo pod = with_resize_request(runs("p", 4), 10);
    ASSERT_TRUE(begin(pod));
    state_.set_pod(pod);
    EXPECT_EQ(allocated(), 10) << "what the watch shows may be older than the write";
    const auto again = begin(pod, false);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->after.revision, 1) << "the same";
    EXPECT_EQ(allocated(), 10);
    PodInfo without = pod;
    without.resize.reset();
    EXPECT_EQ(begin(without, false)->kind, ResizeDecision::Kind::done);
    EXPECT_EQ(allocated(), 10);
    EXPECT_EQ(begin(without, true)->kind, ResizeDecision::Kind::done);
    EXPECT_EQ(allocated(), 4);
}

TEST_F(StateResize, WhatIsRefusedHoldsNoMoreThanBefore) {
    const PodInfo pod = runs("p", 4);
    EXPECT_FALSE(begin(with_resize_request(pod, 17)));
    EXPECT_EQ(allocated(), 4);
    ASSERT_TRUE(begin(with_resize_request(pod, 10)));
    EXPECT_FALSE(begin(with_resize_request(pod, 17), false));
    EXPECT_EQ(allocated(), 10) << "the earlier one may be written";
    state_.end_resize(pod.uid);
    EXPECT_EQ(allocated(), 4);
    state_.end_resize(pod.uid);
    state_.end_resize(PodUid("unknown"));
    EXPECT_EQ(allocated(), 4);
}

TEST_F(StateResize, TheWatchIsWaitedFor) {
    PodInfo pod = with_resize_request(build::pod("p", build::native(gibibytes(4))), 10);
    EXPECT_EQ(begin(pod)->kind, ResizeDecision::Kind::later) << "not bound";
    pod = with_resize_request(runs("q", 4), 10);
    const auto decision = begin(pod);
    ASSERT_TRUE(decision);
    EXPECT_EQ(begin(resized(pod, *decision))->kind, ResizeDecision::Kind::later) << "not observed";
    EXPECT_EQ(allocated(), 10);
    const PodInfo unobserved = with_resize_request(
        build::bound(build::pod("new", build::native(gibibytes(1))),
                     build::allocation(build::pod("new", {}), "n1",
                                       {{.uuid = GpuUuid("GPU-n1-0"), .memory = gibibytes(1)}})),
        2);
    EXPECT_EQ(begin(unobserved)->kind, ResizeDecision::Kind::later)
        << "its Binding was not observed";
}

TEST_F(StateResize, WhoCannotBeResized) {
    PodInfo pod = with_resize_request(runs("p", 4), 5);
    const auto refused = [&](const PodInfo& of) {
        const auto decision = begin(of);
        EXPECT_FALSE(decision);
        return decision ? Error{} : decision.error();
    };
    PodInfo wrong = pod;
    wrong.resize = fail(Code::invalid_argument, "no JSON");
    EXPECT_EQ(refused(wrong).text, "no JSON");
    PodInfo unguarded = pod;
    unguarded.is_guarded = false;
    EXPECT_EQ(refused(unguarded).code, Code::unsupported);
    EXPECT_TRUE(refused(unguarded).text.starts_with("the guard does not")) << "not its GPUs";
    PodInfo without = pod;
    without.allocation.reset();
    EXPECT_EQ(refused(without).code, Code::unsupported);
    PodInfo edited = pod;
    (**edited.allocation).containers[0].gpus[0].memory = gibibytes(16);
    EXPECT_EQ(refused(edited).code, Code::conflict);
    EXPECT_EQ(allocated(), 4);
}

// The guard enforces no whole GPUs, but that is not the reason to name.
TEST_F(StateResize, WholeGpus) {
    PodInfo pod = build::pod("w", build::native(gibibytes(16)));
    pod = build::bound(
        pod,
        build::allocation(pod, "n1",
                          {{.uuid = GpuUuid("GPU-n1-0"), .memory = gibibytes(16), .whole = true}}));
    state_.set_pod(pod);
    const auto decision = begin(with_resize_request(pod, 3));
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().text, "container main has whole GPUs: there is nothing to resize");
}

// Another text in the annotation counts only if it is a resize of the earlier one.
TEST_F(StateResize, WhatComesBackIsNotCounted) {
    const PodInfo pod = with_resize_request(runs("p", 10), 4);
    const auto decision = begin(pod);
    ASSERT_TRUE(decision);
    EXPECT_TRUE(state_.set_pod(resized(pod, *decision)));
    EXPECT_FALSE(state_.set_pod(pod)) << "an older revision";
    EXPECT_EQ(allocated(), 4);
    PodInfo elsewhere = resized(pod, *decision);
    (**elsewhere.allocation).revision = 2;
    (**elsewhere.allocation).containers[0].gpus[0].uuid = GpuUuid("GPU-n1-1");
    EXPECT_FALSE(state_.set_pod(elsewhere));
    EXPECT_EQ(allocated(), 4);
}

TEST_F(StateResize, ANodeOfWhichNobodyKnowsGivesBackOnly) {
    const PodInfo pod = runs("p", 4);
    NodeInventory broken = build::node("n1", 1, gibibytes(16));
    broken.fault = "cannot be read";
    state_.set_node(broken);
    const auto more = begin(with_resize_request(pod, 5));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().text, "cannot be read");
    EXPECT_TRUE(begin(with_resize_request(pod, 3)));
}

TEST_F(StateResize, RoomThatIsKeptForAnotherIsNotTaken) {
    const PodInfo pod = with_resize_request(runs("p", 4), 10);
    PodInfo high = build::pod("high", build::native(gibibytes(8)));
    high.priority = 100;
    high.nominated = NodeName("n1");
    state_.set_pod(high);
    const auto decision = begin(pod);
    ASSERT_FALSE(decision);
    EXPECT_NE(decision.error().text.find("reserved for pod default/high"), std::string::npos)
        << decision.error().text;
    EXPECT_TRUE(begin(with_resize_request(pod, 8)));
}

TEST_F(StateResize, OpenRequestsAreKnown) {
    const auto open = [this] { return state_.resize_requests().size(); };
    PodInfo pod = runs("p", 4);
    EXPECT_EQ(open(), 0U);
    state_.set_pod(with_resize_request(pod, 5));
    EXPECT_EQ(open(), 1U);
    state_.set_pod(with_resize_request(pod, 4));
    EXPECT_EQ(open(), 0U) << "it has that already";
    PodInfo wrong = pod;
    wrong.resize = fail(Code::invalid_argument, "no JSON");
    state_.set_pod(wrong);
    EXPECT_EQ(open(), 1U) << "the refusal must be reported";
    state_.set_pod(pod);
    EXPECT_EQ(open(), 0U);
    PodInfo ending = with_resize_request(pod, 5);
    ending.terminating = true;
    state_.set_pod(ending);
    EXPECT_EQ(open(), 0U);
    state_.set_pod(with_resize_request(pod, 5));
    state_.keep_only_pods({});
    EXPECT_EQ(open(), 0U);
    pod = with_resize_request(runs("q", 4), 5);
    state_.set_pod(pod);
    pod.finished = true;
    state_.set_pod(pod);
    EXPECT_EQ(open(), 0U);
    PodInfo plain = with_resize_request(build::pod("plain", {}), 5);
    plain.node = NodeName("n1");
    state_.set_pod(plain);
    EXPECT_EQ(open(), 0U) << "it has no GPU";
}

// A list that was read after every write could have an effect shows the true state.
TEST_F(StateResize, ANewTermBeginsWithoutReservations) {
    const PodInfo pod = with_resize_request(runs("p", 4), 10);
    ASSERT_TRUE(begin(pod));
    state_.release_unconfirmed();
    EXPECT_EQ(allocated(), 4);
}

}  // namespace
}  // namespace tessera

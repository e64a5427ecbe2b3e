// Goal: while a pod is resized nobody else can have what it may hold, and what it gives back is
// free only once the API server has shown it. Method: a card of 16 GiB, and what a list, a watch,
// a bind and a resize do in each order.
#include <gtest/gtest.h>

#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class StateResize : public ::testing::Test {
  protected:
    StateResize() { state_.set_node(build::node("n1", 1, gibibytes(16))); }

    PodFacts runs(const std::string& name, int gib, int cores = 0) {
        PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        const GpuShare share{
            .uuid = GpuUuid("GPU-n1-0"), .memory = gibibytes(gib), .cores = {cores}};
        pod = build::bound(pod, build::allocation(pod, "n1", {share}));
        pod.is_guarded = true;
        state_.set_pod(pod);
        return pod;
    }
    static PodFacts with_wish(PodFacts pod, int gib) {
        pod.resize = ResizeWish{{{"main", gibibytes(gib), {}, {}}}};
        return pod;
    }
    static PodFacts resized(PodFacts pod, const ResizeTurn& turn) {
        pod.allocation = turn.after;
        return pod;
    }
    Result<ResizeTurn> begin(const PodFacts& pod, bool is_over = true) {
        return state_.begin_resize(pod, is_over);
    }
    Result<Reservation> bind(const std::string& name, int gib) {
        const PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        return state_.reserve(build::ask(pod), NodeName("n1"));
    }
    std::int64_t held() { return state_.view()->find("n1")->cards[0].held.count / kGiB; }

    ClusterState state_;
};

TEST_F(StateResize, AGrowthIsReservedUntilItIsSeen) {
    const PodFacts pod = with_wish(runs("p", 4), 10);
    const auto turn = begin(pod);
    ASSERT_TRUE(turn) << turn.error().text;
    EXPECT_EQ(turn->kind, ResizeTurn::Kind::write);
    EXPECT_EQ(turn->after.revision, 1);
    EXPECT_EQ(held(), 10);
    EXPECT_FALSE(bind("other", 7));
    EXPECT_TRUE(state_.set_pod(resized(pod, *turn)));
    EXPECT_EQ(held(), 10);
    EXPECT_EQ(begin(resized(pod, *turn))->kind, ResizeTurn::Kind::done);
    state_.remove_pod(pod.uid);
    EXPECT_EQ(held(), 0);
}

// What was decided on is put aside while it is judged anew: nothing of it may be read any more
// (AddressSanitizer).
TEST_F(StateResize, AWriteThatIsOverIsJudgedAnew) {
    PodFacts pod = with_wish(runs("p", 4), 10);
    ASSERT_TRUE(begin(pod));
    const auto seen_meanwhile = state_.view();
    pod.terminating = true;
    state_.set_pod(pod);
    const auto turn = begin(pod, true);
    ASSERT_TRUE(turn) << turn.error().text;
    EXPECT_EQ(turn->kind, ResizeTurn::Kind::write);
    EXPECT_EQ(held(), 10);
}

TEST_F(StateResize, WhatIsGivenBackIsFreeOnceSeen) {
    const PodFacts pod = with_wish(runs("p", 10), 4);
    const auto turn = begin(pod);
    ASSERT_TRUE(turn);
    EXPECT_EQ(held(), 10);
    EXPECT_FALSE(bind("other", 12));
    state_.set_pod(resized(pod, *turn));
    EXPECT_EQ(held(), 4);
    EXPECT_TRUE(bind("other", 12));
}

TEST_F(StateResize, ABindThatIsUnderWayHasItsRoom) {
    const PodFacts pod = with_wish(runs("p", 4), 10);
    ASSERT_TRUE(bind("other", 7));
    const auto turn = begin(pod);
    ASSERT_FALSE(turn);
    EXPECT_EQ(turn.error().code, Code::unavailable);
    EXPECT_EQ(held(), 11);
}

TEST_F(StateResize, TwoGrowthsNeverHaveTheSameRoom) {
    const PodFacts first = with_wish(runs("p", 4), 10);
    const PodFacts second = with_wish(runs("q", 4), 10);
    EXPECT_TRUE(begin(first));
    EXPECT_FALSE(begin(second));
    EXPECT_EQ(held(), 14);
}

TEST_F(StateResize, ItIsHeldUntilItIsSureNotToHappen) {
    const PodFacts pod = with_wish(runs("p", 4), 10);
    ASSERT_TRUE(begin(pod));
    state_.set_pod(pod);
    EXPECT_EQ(held(), 10) << "what the watch shows may be older than the write";
    const auto again = begin(pod, false);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->after.revision, 1) << "the same";
    EXPECT_EQ(held(), 10);
    PodFacts without = pod;
    without.resize.reset();
    EXPECT_EQ(begin(without, false)->kind, ResizeTurn::Kind::done);
    EXPECT_EQ(held(), 10);
    EXPECT_EQ(begin(without, true)->kind, ResizeTurn::Kind::done);
    EXPECT_EQ(held(), 4);
}

TEST_F(StateResize, WhatIsRefusedHoldsNoMoreThanBefore) {
    const PodFacts pod = runs("p", 4);
    EXPECT_FALSE(begin(with_wish(pod, 17)));
    EXPECT_EQ(held(), 4);
    ASSERT_TRUE(begin(with_wish(pod, 10)));
    EXPECT_FALSE(begin(with_wish(pod, 17), false));
    EXPECT_EQ(held(), 10) << "the earlier one may happen";
    state_.end_resize(pod.uid);
    EXPECT_EQ(held(), 4);
    state_.end_resize(pod.uid);
    state_.end_resize(PodUid("nobody"));
    EXPECT_EQ(held(), 4);
}

TEST_F(StateResize, TheWatchIsWaitedFor) {
    PodFacts pod = with_wish(build::pod("p", build::native(gibibytes(4))), 10);
    EXPECT_EQ(begin(pod)->kind, ResizeTurn::Kind::later) << "not bound";
    pod = with_wish(runs("q", 4), 10);
    const auto turn = begin(pod);
    ASSERT_TRUE(turn);
    EXPECT_EQ(begin(resized(pod, *turn))->kind, ResizeTurn::Kind::later) << "not seen";
    EXPECT_EQ(held(), 10);
    const PodFacts unseen = with_wish(
        build::bound(build::pod("new", build::native(gibibytes(1))),
                     build::allocation(build::pod("new", {}), "n1",
                                       {{.uuid = GpuUuid("GPU-n1-0"), .memory = gibibytes(1)}})),
        2);
    EXPECT_EQ(begin(unseen)->kind, ResizeTurn::Kind::later) << "its Binding was not seen";
}

TEST_F(StateResize, WhoCannotBeResized) {
    PodFacts pod = with_wish(runs("p", 4), 5);
    const auto refused = [&](const PodFacts& of) {
        const auto turn = begin(of);
        EXPECT_FALSE(turn);
        return turn ? Error{} : turn.error();
    };
    PodFacts wrong = pod;
    wrong.resize = fail(Code::invalid_argument, "no JSON");
    EXPECT_EQ(refused(wrong).text, "no JSON");
    PodFacts unguarded = pod;
    unguarded.is_guarded = false;
    EXPECT_EQ(refused(unguarded).code, Code::unsupported);
    PodFacts without = pod;
    without.allocation.reset();
    EXPECT_EQ(refused(without).code, Code::unsupported);
    PodFacts edited = pod;
    (**edited.allocation).containers[0].gpus[0].memory = gibibytes(16);
    EXPECT_EQ(refused(edited).code, Code::conflict);
    EXPECT_EQ(held(), 4);
}

// Another text in the annotation counts only where it is a resize of what was there.
TEST_F(StateResize, WhatComesBackIsNotCounted) {
    const PodFacts pod = with_wish(runs("p", 10), 4);
    const auto turn = begin(pod);
    ASSERT_TRUE(turn);
    EXPECT_TRUE(state_.set_pod(resized(pod, *turn)));
    EXPECT_FALSE(state_.set_pod(pod)) << "an older revision";
    EXPECT_EQ(held(), 4);
    PodFacts elsewhere = resized(pod, *turn);
    (**elsewhere.allocation).revision = 2;
    (**elsewhere.allocation).containers[0].gpus[0].uuid = GpuUuid("GPU-n1-1");
    EXPECT_FALSE(state_.set_pod(elsewhere));
    EXPECT_EQ(held(), 4);
}

TEST_F(StateResize, ANodeOfWhichNobodyKnowsGivesBackOnly) {
    const PodFacts pod = runs("p", 4);
    NodeInventory broken = build::node("n1", 1, gibibytes(16));
    broken.fault = "cannot be read";
    state_.set_node(broken);
    const auto more = begin(with_wish(pod, 5));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().text, "cannot be read");
    EXPECT_TRUE(begin(with_wish(pod, 3)));
}

TEST_F(StateResize, RoomThatIsKeptForAnotherIsNotTaken) {
    const PodFacts pod = with_wish(runs("p", 4), 10);
    PodFacts high = build::pod("high", build::native(gibibytes(8)));
    high.priority = 100;
    high.nominated = NodeName("n1");
    state_.set_pod(high);
    const auto turn = begin(pod);
    ASSERT_FALSE(turn);
    EXPECT_NE(turn.error().text.find("is kept for pod default/high"), std::string::npos)
        << turn.error().text;
    EXPECT_TRUE(begin(with_wish(pod, 8)));
}

TEST_F(StateResize, OpenWishesAreKnown) {
    const auto open = [this] { return state_.wishes().size(); };
    PodFacts pod = runs("p", 4);
    EXPECT_EQ(open(), 0U);
    state_.set_pod(with_wish(pod, 5));
    EXPECT_EQ(open(), 1U);
    state_.set_pod(with_wish(pod, 4));
    EXPECT_EQ(open(), 0U) << "it has that";
    PodFacts wrong = pod;
    wrong.resize = fail(Code::invalid_argument, "no JSON");
    state_.set_pod(wrong);
    EXPECT_EQ(open(), 1U) << "somebody has to say so";
    state_.set_pod(pod);
    EXPECT_EQ(open(), 0U);
    PodFacts ending = with_wish(pod, 5);
    ending.terminating = true;
    state_.set_pod(ending);
    EXPECT_EQ(open(), 0U);
    state_.set_pod(with_wish(pod, 5));
    state_.keep_only_pods({});
    EXPECT_EQ(open(), 0U);
    pod = with_wish(runs("q", 4), 5);
    state_.set_pod(pod);
    pod.finished = true;
    state_.set_pod(pod);
    EXPECT_EQ(open(), 0U);
    PodFacts plain = with_wish(build::pod("plain", {}), 5);
    plain.node = NodeName("n1");
    state_.set_pod(plain);
    EXPECT_EQ(open(), 0U) << "it has no GPU";
}

// A list that was read after every write could have had effect says what there is.
TEST_F(StateResize, ANewTermBeginsWithoutReservations) {
    const PodFacts pod = with_wish(runs("p", 4), 10);
    ASSERT_TRUE(begin(pod));
    state_.release_unconfirmed();
    EXPECT_EQ(held(), 4);
}

}  // namespace
}  // namespace tessera

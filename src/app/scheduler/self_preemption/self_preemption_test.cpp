#include "app/scheduler/self_preemption/self_preemption_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tessera {
namespace {

// Goal: the victims that cost least, on the cheapest node, are evicted once. That happens after the
// reservation and before the nomination, and not before kube-scheduler had its time since the first
// refusal.
TEST_F(SelfPreemptionTest, TheCheapestNode) {
    node("a", 1);
    node("b", 2);
    holder("dear", "a", 0, 12, 5);
    holder("x", "b", 0, 8, 1);
    holder("y", "b", 0, 8, 1);
    holder("z", "b", 1, 16, 2);
    const PodInfo high = waits("high", 16, 10);
    evictions_.on_evict([&](const PodName&) { EXPECT_TRUE(has_reservation(high, "b")); });
    EXPECT_TRUE(refuse(high, {"a", "b", "unknown"}));
    EXPECT_EQ(writes_after(1s), Writes{});
    EXPECT_TRUE(refuse(high, {"a", "b", "unknown"}));
    const Writes all = {"evict x", "mark x for high", "evict y", "mark y for high",
                        "nominate high b"};
    EXPECT_EQ(writes_after(1s), all);
    EXPECT_EQ(writes_after(60s), all);
    const auto snapshot = cache_.snapshot();
    EXPECT_NE(metrics_.expose({.snapshot = *snapshot, .waiting = {}})
                  .find("tessera_preempted_pods_total 2"),
              std::string::npos);
}

// Goal: a pod that must not be evicted stays, though the others cost more, and is not checked again
// at once. If none may be evicted, none is, and it is tried again later.
TEST_F(SelfPreemptionTest, Budgets) {
    node("a", 2);
    const PodInfo guarded = holder("guarded", "a", 0, 16, 1);
    holder("x", "a", 1, 8, 2);
    const PodInfo last = holder("y", "a", 1, 8, 3);
    evictions_.guard(guarded.uid);
    evictions_.guard(last.uid);
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_EQ(evictions_.questions(), 2) << "guarded, y";
    EXPECT_EQ(announced_, 0) << "may_evict() announces no write";
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), Writes{});
    EXPECT_EQ(evictions_.questions(), 2);

    const PodInfo small = waits("small", 8, 10);
    EXPECT_TRUE(refuse(small, {"a"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict x", "mark x for small", "nominate small a"}));
}

// Goal: many guarded pods, more than can be checked before the first ones are due again, do not
// block the pod after them.
TEST_F(SelfPreemptionTest, ManyGuarded) {
    constexpr int kTurns = 2 + SelfPreemption::kGuarded / UnschedulablePods::kRetry;
    constexpr int kMore = kTurns * SelfPreemption::kMostGuarded + 3;
    node("a", kMore + 1);
    for (int i = 0; i < kMore; ++i)
        evictions_.guard(holder("guarded-" + std::to_string(i), "a", i, 16, 1).uid);
    holder("x", "a", kMore, 16, 2);
    EXPECT_TRUE(refuse(waits("high", 16, 10), {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    for (int turn = 1; turn < kTurns; ++turn)
        EXPECT_EQ(writes_after(UnschedulablePods::kRetry), Writes{});
    ASSERT_FALSE(writes_after(UnschedulablePods::kRetry).empty());
    EXPECT_EQ(evictions_.writes().front(), "evict x");
}

// Goal: an API server that fails is no reason to evict more expensive pods; it is asked again.
TEST_F(SelfPreemptionTest, AnErrorIsNoBudget) {
    node("a", 2);
    holder("x", "a", 0, 16, 1);
    holder("dear", "a", 1, 16, 9);
    evictions_.fail_with(Error{Code::unavailable, "500"});
    EXPECT_TRUE(refuse(waits("high", 16, 10), {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_EQ(evictions_.questions(), 1);
    evictions_.fail_with({});
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry).front(), "evict x");
}

// Goal: no pod is evicted for a pod that may not preempt, has no pod of lower priority, found a
// node, is nominated, or is gone.
TEST_F(SelfPreemptionTest, NobodyInVain) {
    node("a", 1);
    PodInfo low = holder("low", "a", 0, 16, 5);
    PodInfo never = waits("never", 16, 10);
    never.preempts = false;
    EXPECT_FALSE(refuse(never, {"a"}));
    EXPECT_FALSE(refuse(waits("equal", 16, 5), {"a"}));
    EXPECT_FALSE(refuse(waits("nowhere", 16, 10), {}));

    const PodInfo nominated = waits("nominated", 16, 10);
    const PodInfo gone = waits("gone", 16, 10);
    const PodInfo lucky = waits("lucky", 16, 10);
    for (const PodInfo& pod : {nominated, gone, lucky})
        EXPECT_TRUE(refuse(pod, {"a"}));
    node("b", 1);
    nominate(nominated, "b");
    tell([&](ClusterState& state) { state.remove_pod(gone.uid); });
    offer_node(lucky);
    EXPECT_EQ(writes_after(2s), Writes{});

    const PodInfo later = waits("later", 16, 11);
    EXPECT_TRUE(refuse(later, {"a"}));
    tell([&](ClusterState& state) { state.remove_pod(low.uid); });
    EXPECT_EQ(writes_after(2s), Writes{"nominate later a"}) << "it fits now, and may be nominated";
    EXPECT_EQ(evictions_.questions(), 0);
}

// Goal: a nomination whose GPUs went to a pod of higher priority does not block the pod: others are
// evicted for it elsewhere.
TEST_F(SelfPreemptionTest, ANominationThatCameToNothing) {
    node("a", 1);
    node("b", 1);
    holder("low", "a", 0, 16, 1);
    holder("higher", "b", 0, 16, 20);
    const PodInfo high = waits("high", 16, 10);
    nominate(high, "b");
    EXPECT_TRUE(refuse(high, {"a", "b"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict low", "mark low for high", "nominate high a"}));
    EXPECT_TRUE(has_reservation(high, "a"));
}

// Goal: a nomination to a node that kube-scheduler does not ask about is trusted for some time, but
// does not block the pod for ever.
TEST_F(SelfPreemptionTest, ANominationThatNobodyAsksAbout) {
    node("a", 1);
    node("b", 1);
    const PodInfo low = holder("low", "a", 0, 16, 1);
    evictions_.guard(low.uid);
    const PodInfo high = waits("high", 16, 10);
    nominate(high, "b");
    for (auto asked = 60s; asked < SelfPreemption::kBelieved; asked += 60s) {
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(2s);
        EXPECT_EQ(writes_after(58s), Writes{});
        EXPECT_TRUE(has_reservation(high, "b"));
    }
    EXPECT_EQ(evictions_.questions(), 0);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(70s), Writes{});
    EXPECT_FALSE(has_reservation(high, "b"));
    EXPECT_EQ(evictions_.questions(), 1) << "one check is not enough: the pod is checked again";
    writes_after(SelfPreemption::kGuarded);
    EXPECT_EQ(evictions_.questions(), 2);
}

// Goal: of two pods the more important one is served first. The other gets neither the same GPUs
// nor victims that are ending already.
TEST_F(SelfPreemptionTest, TheMostImportantFirst) {
    node("a", 1);
    node("b", 1);
    holder("x", "a", 0, 16, 1);
    holder("y", "b", 0, 16, 2);
    EXPECT_TRUE(refuse(waits("second", 16, 10), {"a", "b"}));
    EXPECT_TRUE(refuse(waits("first", 16, 11), {"a", "b"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict x", "mark x for first", "nominate first a",
                                        "evict y", "mark y for second", "nominate second b"}));
}

// Goal: two pods that fit on one GPU together have two victims, each evicted once.
TEST_F(SelfPreemptionTest, NobodyEndsTwice) {
    node("a", 1);
    holder("x", "a", 0, 8, 1);
    holder("y", "a", 0, 8, 1);
    EXPECT_TRUE(refuse(waits("first", 8, 11), {"a"}));
    EXPECT_TRUE(refuse(waits("second", 8, 10), {"a"}));
    const Writes& all = writes_after(2s);
    EXPECT_EQ(std::ranges::count(all, "evict x"), 1);
    EXPECT_EQ(std::ranges::count(all, "evict y"), 1);
}

// Goal: a replica that does not lead evicts no pod. A pod that was evicted is counted even if the
// mark could not be written.
TEST_F(SelfPreemptionTest, NoLeaseNoEnd) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    const PodInfo high = waits("high", 16, 10);
    leads_ = false;
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_FALSE(has_reservation(high, "a"));
    leads_ = true;
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry).front(), "evict x");
}

// Goal: a round that must stop begins nothing.
TEST_F(SelfPreemptionTest, Stops) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    EXPECT_TRUE(refuse(waits("high", 16, 10), {"a"}));
    clock_.advance(2s);
    std::stop_source stop;
    stop.request_stop();
    preemption_.run_round(stop.get_token());
    EXPECT_EQ(evictions_.questions(), 0);
}

}  // namespace
}  // namespace tessera

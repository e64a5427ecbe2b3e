#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "app/scheduler/self_preemption/self_preemption_test.hpp"

namespace tessera {
namespace {

// Goal: a victim that ends by itself while others are being evicted serves the purpose: the
// reservation stays.
TEST_F(SelfPreemptionTest, VictimsThatAreGone) {
    node("a", 1);
    const PodInfo late = holder("x", "a", 0, 8, 1);
    const PodInfo early = holder("y", "a", 0, 4, 1);
    holder("z", "a", 0, 4, 1);
    evictions_.remove(early.uid);
    evictions_.on_evict([&](const PodName& pod) {
        if (pod.name == "z") evictions_.remove(late.uid);
    });
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict z", "mark z for high", "nominate high a"}));
    EXPECT_TRUE(has_reservation(high, "a"));
}

// Goal: a budget allows one eviction at a time. The second follows when a new pod replaces the
// first, and the reservation is kept until then.
TEST_F(SelfPreemptionTest, OneAtATime) {
    const auto [high, first, second, one] = half_made();
    tell([&](ClusterState& state) { state.remove_pod(first.uid); });
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), one);
    EXPECT_TRUE(has_reservation(high, "a"));
    evictions_.allow({second.uid}, 1);
    const Writes both = {"evict x", "mark x for high", "evict y", "mark y for high",
                         "nominate high a"};
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), both);
    EXPECT_EQ(writes_after(60s), both);
}

// Goal: if the second eviction is never allowed, other pods get the reserved GPUs after a while. No
// pod is evicted without use on the next GPU, though each may be evicted by itself. Preemption goes
// on for pods that need only one victim.
TEST_F(SelfPreemptionTest, OneInVainIsEnough) {
    node("a", 2);
    std::set<PodUid> all;
    for (const int gpu : {0, 1}) {
        for (const std::string name : {"x", "y"})
            all.insert(holder(name + std::to_string(gpu), "a", gpu, 8, 1).uid);
    }
    evictions_.allow(all, 1);
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    const Writes one = {"evict x0", "mark x0 for high"};
    EXPECT_EQ(writes_after(2s), one);
    tell([&](ClusterState& state) { state.remove_pod(PodUid("uid-x0")); });
    for (auto time = 0s; time < PreemptionReservations::kEvicting;
         time += UnschedulablePods::kRetry)
        EXPECT_EQ(writes_after(UnschedulablePods::kRetry), one);
    EXPECT_FALSE(has_reservation(high, "a"));
    all.insert(holder("instead", "a", 0, 8, 1).uid);
    evictions_.allow(all, 1);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_TRUE(refuse(waits("other", 16, 10), {"a"}));
    EXPECT_EQ(writes_after(60s), one);

    EXPECT_TRUE(refuse(waits("small", 8, 10), {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate small a") << "one victim is enough";
}

// Goal: a failed Binding of the pod elsewhere stops no preemption that was begun. The other victims
// are not evicted meanwhile, and the preemption is not forgotten.
TEST_F(SelfPreemptionTest, ABindingThatComesToNothing) {
    const auto [high, first, second, one] = half_made();
    node("b", 1);
    const auto made = cache_.call(
        [&](ClusterState& state) { return state.reserve(build::request(high), NodeName("b")); });
    ASSERT_TRUE(made);
    evictions_.allow({second.uid}, 1);
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), one);
    tell([&](ClusterState& state) { state.refuse(made->attempt); });
    EXPECT_TRUE(has_reservation(high, "a"));
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry).back(), "nominate high a");
}

// Goal: a preemption on a node where the pod may not run any more goes no further.
TEST_F(SelfPreemptionTest, BegunWhereItMayNotRun) {
    const auto [high, first, second, one] = half_made();
    EXPECT_TRUE(refuse(high, {"unknown"}));
    evictions_.allow({second.uid}, 1);
    for (auto time = 0s; time < PreemptionReservations::kNotAsked; time += 60s)
        EXPECT_EQ(writes_after(60s), one);
    EXPECT_FALSE(has_reservation(high, "a"));
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(60s), one) << "it rests";
}

// Goal: kube-scheduler may name only a sample of the nodes. A sample without the reserved node
// causes no evictions elsewhere; the preemption goes on when that node is named again.
TEST_F(SelfPreemptionTest, BegunOutsideTheSample) {
    const auto [high, first, second, one] = half_made();
    node("b", 1);
    holder("other", "b", 0, 16, 1);
    evictions_.allow({second.uid}, 1);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(refuse(high, {"b"}));
        EXPECT_EQ(writes_after(UnschedulablePods::kRetry), one);
    }
    EXPECT_TRUE(has_reservation(high, "a"));
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(1s).back(), "nominate high a");
}

// Goal: no other pod is evicted if the pod fits meanwhile, because another pod has ended by itself.
TEST_F(SelfPreemptionTest, NoEndThatIsNotNeeded) {
    node("a", 2);
    const PodInfo first = holder("x", "a", 0, 8, 1);
    const PodInfo second = holder("y", "a", 0, 8, 1);
    const PodInfo dear = holder("dear", "a", 1, 16, 20);
    evictions_.allow({first.uid, second.uid}, 1);
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict x", "mark x for high"}));
    evictions_.allow({second.uid}, 1);
    tell([&](ClusterState& state) { state.remove_pod(dear.uid); });
    const Writes all = {"evict x", "mark x for high", "nominate high a"};
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), all);
    const NodeInfo* after = cache_.snapshot()->find("a");
    const bool is_ending = std::ranges::any_of(
        after->assigned_pods,
        [&](const AssignedPodPtr& pod) { return pod->uid == second.uid && pod->terminating; });
    EXPECT_FALSE(is_ending) << "the second pod does not count as ending any more";
}

// Goal: no other pod is evicted if that is of no use, because a pod of higher priority took the
// place of the first victim. The pod then rests, and its victims are chosen again.
TEST_F(SelfPreemptionTest, NoEndThatIsOfNoUse) {
    const auto [high, first, second, one] = half_made();
    tell([&](ClusterState& state) { state.remove_pod(first.uid); });
    holder("higher", "a", 0, 8, 20);
    evictions_.allow({second.uid}, 1);
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), one);
    EXPECT_TRUE(has_reservation(high, "a"))
        << "a restart of the agent does not end the reservation";
    EXPECT_EQ(writes_after(PreemptionReservations::kLost), one);
    EXPECT_FALSE(has_reservation(high, "a"));
    EXPECT_EQ(preemption_.reservations(), 0U);
}

// Goal: while a pod that was offered a node may be on its way there, no other pod is evicted for
// it.
TEST_F(SelfPreemptionTest, BegunForAPodOnItsWay) {
    const auto [high, first, second, one] = half_made();
    evictions_.allow({second.uid}, 1);
    offer_node(high);
    EXPECT_EQ(writes_after(PreemptionReservations::kOffered - 1s), one);
    EXPECT_EQ(writes_after(1s).back(), "nominate high a");
}

// Goal: after evictions without use, no more pods are evicted for the pod for a while, and for
// longer each time. Method: two replicas of one Deployment, and a budget that opens when the
// evicted one is created again.
TEST_F(SelfPreemptionTest, InVainAgainAndAgain) {
    const auto [high, first, second, one] = half_made();
    std::vector<std::int64_t> minutes;
    const auto ended = [&] {
        return std::ranges::count_if(evictions_.writes(),
                                     [](const auto& write) { return write.starts_with("evict"); });
    };
    PodUid last = first.uid;
    for (int minute = 1; minute <= 120; ++minute) {
        const auto before = ended();
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(60s);
        if (ended() > before) minutes.push_back(minute);
        if (has_reservation(high, "a")) continue;
        // Its copy starts on the GPUs, which are not reserved any more.
        const PodInfo copy = holder("copy-" + std::to_string(minute), "a", 0, 8, 1);
        tell([&](ClusterState& state) { state.remove_pod(last); });
        last = copy.uid;
        evictions_.allow({copy.uid, second.uid}, 1);
    }
    EXPECT_EQ(ended(), 4) << ::testing::PrintToString(minutes);
}

// Goal: a later pod does not take a reservation of an equal pod, whatever their uids.
TEST_F(SelfPreemptionTest, EqualsThatComeLater) {
    node("a", 2);
    holder("x", "a", 0, 16, 1);
    holder("y", "a", 1, 16, 2);
    const PodInfo second = waits("second", 16, 10);
    EXPECT_TRUE(refuse(second, {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate second a");
    const PodInfo first = waits("first", 16, 10);
    EXPECT_TRUE(refuse(first, {"a"}));
    const Writes all = {"evict x", "mark x for second", "nominate second a",
                        "evict y", "mark y for first",  "nominate first a"};
    EXPECT_EQ(writes_after(2s), all);
    EXPECT_EQ(writes_after(60s), all);
    EXPECT_TRUE(has_reservation(second, "a"));
    EXPECT_EQ(preemption_.reservations(), 2U);
}

// Goal: an eviction whose answer is lost may have happened: the reservation stays, and no other pod
// is evicted.
TEST_F(SelfPreemptionTest, AnAnswerThatIsLost) {
    node("a", 1);
    PodInfo low = holder("x", "a", 0, 16, 1);
    evictions_.lose_answer();
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{"evict x"});
    EXPECT_TRUE(has_reservation(high, "a"));
    low.terminating = true;
    tell([&](ClusterState& state) { state.set_pod(low); });
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), (Writes{"evict x", "nominate high a"}));
}

// Goal: a nomination is removed later if the API server is away when its reservation is given up.
TEST_F(SelfPreemptionTest, ANominationThatIsTakenBackLater) {
    node("a", 1);
    const PodInfo low = holder("x", "a", 0, 16, 1);
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate high a");
    tell([&](ClusterState& state) { state.remove_pod(low.uid); });
    holder("higher", "a", 0, 16, 20);
    evictions_.fail_with(Error{Code::unavailable, "500"});
    writes_after(1s);
    EXPECT_EQ(writes_after(PreemptionReservations::kLost).back(), "nominate high a");
    EXPECT_FALSE(has_reservation(high, "a"));
    evictions_.fail_with({});
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry).back(), "clear high");
    EXPECT_EQ(std::ranges::count(writes_after(60s), "clear high"), 1);
}

// Goal: a victim that does not end is waited for, but not for ever. After a while pods elsewhere
// are evicted, and no other pod waits for that node. If there are no other victims, the reservation
// stays.
TEST_F(SelfPreemptionTest, AVictimThatDoesNotEnd) {
    node("a", 1);
    PodInfo stuck = holder("x", "a", 0, 16, 1);
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    const Writes one = {"evict x", "mark x for high", "nominate high a"};
    EXPECT_EQ(writes_after(2s), one);
    stuck.terminating = true;
    tell([&](ClusterState& state) { state.set_pod(stuck); });
    for (auto time = 0s; time <= PreemptionReservations::kSlow; time += 60s) {
        EXPECT_TRUE(refuse(high, {"a"}));
        EXPECT_EQ(writes_after(60s), one);
    }
    EXPECT_TRUE(has_reservation(high, "a"));
    node("b", 1);
    const PodInfo y = holder("y", "b", 0, 16, 2);
    evictions_.guard(y.uid);
    EXPECT_TRUE(refuse(high, {"a", "b"}));
    EXPECT_EQ(writes_after(60s), one);
    EXPECT_TRUE(has_reservation(high, "a")) << "while no other pod may be evicted";
    node("c", 1);
    holder("z", "c", 0, 16, 3);
    EXPECT_TRUE(refuse(high, {"a", "b", "c"}));
    writes_after(60s);
    EXPECT_TRUE(has_reservation(high, "c"));
    EXPECT_EQ(evictions_.writes()[3], "clear high");
    EXPECT_EQ(evictions_.writes().back(), "nominate high c");
    EXPECT_TRUE(refuse(waits("other", 16, 9), {"a", "b", "c"}));
    writes_after(60s);
    EXPECT_EQ(evictions_.writes().back(), "nominate high c") << "x ends, and no pod waits for it";
}

// Goal: a preemption ends with the waiting pod, and with the Lease. A pod that is gone has no
// reservation.
TEST_F(SelfPreemptionTest, BegunAndNotNeeded) {
    const auto [high, first, second, one] = half_made();
    evictions_.allow({second.uid}, 1);
    leads_ = false;
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), one);
    leads_ = true;
    tell([&](ClusterState& state) { state.remove_pod(high.uid); });
    EXPECT_EQ(writes_after(UnschedulablePods::kRetry), one);
}

// Goal: a reservation whose GPUs become free soon is kept, though pods elsewhere could be evicted.
TEST_F(SelfPreemptionTest, RoomOnItsWay) {
    node("a", 1);
    node("b", 1);
    holder("low", "a", 0, 16, 1);
    PodInfo ending = holder("ending", "b", 0, 16, 20);
    ending.terminating = true;
    tell([&](ClusterState& state) { state.set_pod(ending); });
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a", "b"}));
    EXPECT_EQ(writes_after(2s), Writes{"nominate high b"})
        << "the nomination shows it to other replicas";
    EXPECT_TRUE(has_reservation(high, "b"));
    // The pod may not run there any more: kube-scheduler does not ask about that node.
    for (auto time = 0s; time < PreemptionReservations::kNotAsked; time += 60s) {
        EXPECT_TRUE(has_reservation(high, "b"));
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(60s);
    }
    EXPECT_TRUE(has_reservation(high, "b"));
    EXPECT_TRUE(refuse(high, {"a"}));
    writes_after(60s);
    EXPECT_FALSE(has_reservation(high, "b"));
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(60s).back(), "nominate high a") << "no pod was evicted without use";
}

// Goal: free reserved GPUs that kube-scheduler does not use go to other pods in the end, but not
// before they are free.
TEST_F(SelfPreemptionTest, RoomThatNobodyClaims) {
    node("a", 1);
    const PodInfo low = holder("low", "a", 0, 16, 1);
    const PodInfo high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate high a");
    for (int i = 0; i < 3; ++i) {
        writes_after(PreemptionReservations::kUnclaimed);
        EXPECT_TRUE(has_reservation(high, "a")) << "its victim is still ending";
    }
    tell([&](ClusterState& state) { state.remove_pod(low.uid); });
    writes_after(1s);
    writes_after(PreemptionReservations::kUnclaimed - 1s);
    EXPECT_TRUE(has_reservation(high, "a"));
    writes_after(1s);
    EXPECT_FALSE(has_reservation(high, "a")) << "its nomination reserves nothing either";
    EXPECT_EQ(evictions_.writes().back(), "clear high") << "nor on other replicas";

    holder("again", "a", 0, 16, 1);
    const auto ended = [&] { return std::ranges::count(evictions_.writes(), "evict again"); };
    for (auto rests = 60s; rests < PreemptionReservations::kRest; rests += 60s) {
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(60s);
        EXPECT_EQ(ended(), 0) << "no pod is evicted again at once";
    }
    EXPECT_TRUE(refuse(high, {"a"}));
    writes_after(60s);
    EXPECT_EQ(ended(), 1);
}

// Goal: the second eviction does not happen if the pod is gone, or found a node, after the first.
// Nor does it if this controller stops, or lost its Lease.
TEST_F(SelfPreemptionTest, StopsBetweenVictims) {
    const Writes one = {"evict x", "mark x for high"};
    for (const std::string why : {"gone", "nominated", "lease"}) {
        FakeEvictions evictions;
        ClusterCache cache([] {});
        bool leads = true;
        SelfPreemption preemption({evictions, cache, metrics_, clock_,
                                   WriteFence([&](std::chrono::nanoseconds) { return leads; })});
        PodInfo high = build::pod("high", build::native(gibibytes(16)));
        high.priority = 10;
        cache.call([&](ClusterState& state) {
            state.set_node(build::node("a", 1, gibibytes(16)));
            for (const char* name : {"x", "y"}) {
                const PodInfo pod = build::pod(name, build::native(gibibytes(8)));
                state.set_pod(build::bound(
                    pod, build::allocation(pod, "a",
                                           {{GpuUuid("GPU-a-0"), 0, gibibytes(8), {}, false}})));
            }
            return state.set_pod(high);
        });
        ExtenderArgs args;
        args.pod = high;
        args.names = {"a"};
        preemption.note(args, {.fitting = {}, .failed = {{0, "full"}}});
        evictions.on_evict([&](const PodName& pod) {
            if (pod.name != "x") return;
            leads = why != "lease";
            cache.call([&](ClusterState& state) {
                if (why == "gone") state.remove_pod(high.uid);
                high.nominated = NodeName("elsewhere");
                return why == "nominated" && state.set_pod(high);
            });
        });
        clock_.advance(2s);
        preemption.run_round();
        EXPECT_EQ(evictions.writes(), one) << why;
    }
}

}  // namespace
}  // namespace tessera

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "app/scheduler/own_preemption_test.hpp"

namespace tessera {
namespace {

// Goal: a victim that ends by itself while others are told to end is what was wanted: the room
// stays kept.
TEST_F(OwnPreemptionTest, VictimsThatAreGone) {
    node("a", 1);
    const PodFacts late = holder("x", "a", 0, 8, 1);
    const PodFacts early = holder("y", "a", 0, 4, 1);
    holder("z", "a", 0, 4, 1);
    evictions_.remove(early.uid);
    evictions_.on_evict([&](const PodName& pod) {
        if (pod.name == "z") evictions_.remove(late.uid);
    });
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict z", "mark z for high", "nominate high a"}));
    EXPECT_TRUE(is_kept(high, "a"));
}

// Goal: a budget that allows one eviction at a time: the second follows when another pod stands in
// for the first, and the room of the first is kept until then.
TEST_F(OwnPreemptionTest, OneAtATime) {
    const auto [high, first, second, one] = half_made();
    tell([&](ClusterState& state) { state.remove_pod(first.uid); });
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(RefusedPods::kRetry), one);
    EXPECT_TRUE(is_kept(high, "a"));
    evictions_.allow({second.uid}, 1);
    const Writes both = {"evict x", "mark x for high", "evict y", "mark y for high",
                         "nominate high a"};
    EXPECT_EQ(writes_after(RefusedPods::kRetry), both);
    EXPECT_EQ(writes_after(60s), both);
}

// Goal: where the second never may, the room goes to others after a while, and nobody ends in vain
// on the next card, though each may be evicted for itself; where one end is enough it goes on.
TEST_F(OwnPreemptionTest, OneInVainIsEnough) {
    node("a", 2);
    std::set<PodUid> all;
    for (const int card : {0, 1}) {
        for (const std::string name : {"x", "y"})
            all.insert(holder(name + std::to_string(card), "a", card, 8, 1).uid);
    }
    evictions_.allow(all, 1);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    const Writes one = {"evict x0", "mark x0 for high"};
    EXPECT_EQ(writes_after(2s), one);
    tell([&](ClusterState& state) { state.remove_pod(PodUid("uid-x0")); });
    for (auto time = 0s; time < PromisedRooms::kMaking; time += RefusedPods::kRetry)
        EXPECT_EQ(writes_after(RefusedPods::kRetry), one);
    EXPECT_FALSE(is_kept(high, "a"));
    all.insert(holder("instead", "a", 0, 8, 1).uid);
    evictions_.allow(all, 1);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_TRUE(refuse(waits("other", 16, 10), {"a"}));
    EXPECT_EQ(writes_after(60s), one);

    EXPECT_TRUE(refuse(waits("small", 8, 10), {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate small a") << "one is enough";
}

// Goal: a Binding of the pod elsewhere that comes to nothing ends nothing that was begun: neither
// is the rest told to end meanwhile, nor is it forgotten.
TEST_F(OwnPreemptionTest, ABindingThatComesToNothing) {
    const auto [high, first, second, one] = half_made();
    node("b", 1);
    const auto made = keeper_.ask(
        [&](ClusterState& state) { return state.reserve(build::ask(high), NodeName("b")); });
    ASSERT_TRUE(made);
    evictions_.allow({second.uid}, 1);
    EXPECT_EQ(writes_after(RefusedPods::kRetry), one);
    tell([&](ClusterState& state) { state.refuse(made->attempt); });
    EXPECT_TRUE(is_kept(high, "a"));
    EXPECT_EQ(writes_after(RefusedPods::kRetry).back(), "nominate high a");
}

// Goal: what was begun on a node where the pod may not run any more goes no further.
TEST_F(OwnPreemptionTest, BegunWhereItMayNotRun) {
    const auto [high, first, second, one] = half_made();
    EXPECT_TRUE(refuse(high, {"unknown"}));
    evictions_.allow({second.uid}, 1);
    for (auto time = 0s; time < PromisedRooms::kNotAsked; time += 60s)
        EXPECT_EQ(writes_after(60s), one);
    EXPECT_FALSE(is_kept(high, "a"));
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(60s), one) << "it rests";
}

// Goal: where kube-scheduler shows us a sample of the nodes, one without the node where room is
// being made is no reason to end others elsewhere; it goes on when that node is asked about again.
TEST_F(OwnPreemptionTest, BegunOutsideTheSample) {
    const auto [high, first, second, one] = half_made();
    node("b", 1);
    holder("other", "b", 0, 16, 1);
    evictions_.allow({second.uid}, 1);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(refuse(high, {"b"}));
        EXPECT_EQ(writes_after(RefusedPods::kRetry), one);
    }
    EXPECT_TRUE(is_kept(high, "a"));
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(1s).back(), "nominate high a");
}

// Goal: nobody else ends where the pod fits meanwhile: another pod has gone by itself.
TEST_F(OwnPreemptionTest, NoEndThatIsNotNeeded) {
    node("a", 2);
    const PodFacts first = holder("x", "a", 0, 8, 1);
    const PodFacts second = holder("y", "a", 0, 8, 1);
    const PodFacts dear = holder("dear", "a", 1, 16, 20);
    evictions_.allow({first.uid, second.uid}, 1);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict x", "mark x for high"}));
    evictions_.allow({second.uid}, 1);
    tell([&](ClusterState& state) { state.remove_pod(dear.uid); });
    const Writes all = {"evict x", "mark x for high", "nominate high a"};
    EXPECT_EQ(writes_after(RefusedPods::kRetry), all);
    const NodeView* after = keeper_.view()->find("a");
    const bool is_ending = std::ranges::any_of(after->tenants, [&](const TenantPtr& pod) {
        return pod->uid == second.uid && pod->terminating;
    });
    EXPECT_FALSE(is_ending) << "nobody says any more that it ends";
}

// Goal: nobody else ends where it is of no use: a higher pod has taken the place of the first. Then
// the pod rests, and what it waits for is chosen anew.
TEST_F(OwnPreemptionTest, NoEndThatIsOfNoUse) {
    const auto [high, first, second, one] = half_made();
    tell([&](ClusterState& state) { state.remove_pod(first.uid); });
    holder("higher", "a", 0, 8, 20);
    evictions_.allow({second.uid}, 1);
    EXPECT_EQ(writes_after(RefusedPods::kRetry), one);
    EXPECT_TRUE(is_kept(high, "a")) << "an agent that restarts is no reason to give it up";
    EXPECT_EQ(writes_after(PromisedRooms::kLost), one);
    EXPECT_FALSE(is_kept(high, "a"));
    EXPECT_EQ(preemption_.rooms(), 0U);
}

// Goal: nobody else ends for a pod that was offered a node and may be on its way there, for a
// while.
TEST_F(OwnPreemptionTest, BegunForAPodOnItsWay) {
    const auto [high, first, second, one] = half_made();
    evictions_.allow({second.uid}, 1);
    offer(high);
    EXPECT_EQ(writes_after(PromisedRooms::kOffered - 1s), one);
    EXPECT_EQ(writes_after(1s).back(), "nominate high a");
}

// Goal: of a pod whose victims ended in vain no more end for a while, and for longer each time: two
// replicas of one Deployment, and a budget that opens when the one that ended is made anew.
TEST_F(OwnPreemptionTest, InVainAgainAndAgain) {
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
        if (is_kept(high, "a")) continue;
        // Its copy starts in the place that nobody keeps any more.
        const PodFacts copy = holder("copy-" + std::to_string(minute), "a", 0, 8, 1);
        tell([&](ClusterState& state) { state.remove_pod(last); });
        last = copy.uid;
        evictions_.allow({copy.uid, second.uid}, 1);
    }
    EXPECT_EQ(ended(), 4) << ::testing::PrintToString(minutes);
}

// Goal: a pod that comes later takes no room that was made for an equal one, whatever their uids.
TEST_F(OwnPreemptionTest, EqualsThatComeLater) {
    node("a", 2);
    holder("x", "a", 0, 16, 1);
    holder("y", "a", 1, 16, 2);
    const PodFacts second = waits("second", 16, 10);
    EXPECT_TRUE(refuse(second, {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate second a");
    const PodFacts first = waits("first", 16, 10);
    EXPECT_TRUE(refuse(first, {"a"}));
    const Writes all = {"evict x", "mark x for second", "nominate second a",
                        "evict y", "mark y for first",  "nominate first a"};
    EXPECT_EQ(writes_after(2s), all);
    EXPECT_EQ(writes_after(60s), all);
    EXPECT_TRUE(is_kept(second, "a"));
    EXPECT_EQ(preemption_.rooms(), 2U);
}

// Goal: an eviction whose answer is lost may have happened: the room stays kept, and nobody else
// ends.
TEST_F(OwnPreemptionTest, AnAnswerThatIsLost) {
    node("a", 1);
    PodFacts low = holder("x", "a", 0, 16, 1);
    evictions_.lose_answer();
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{"evict x"});
    EXPECT_TRUE(is_kept(high, "a"));
    low.terminating = true;
    tell([&](ClusterState& state) { state.set_pod(low); });
    EXPECT_EQ(writes_after(RefusedPods::kRetry), (Writes{"evict x", "nominate high a"}));
}

// Goal: a nomination is taken back though the API server is away when its room is given up.
TEST_F(OwnPreemptionTest, ANominationThatIsTakenBackLater) {
    node("a", 1);
    const PodFacts low = holder("x", "a", 0, 16, 1);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate high a");
    tell([&](ClusterState& state) { state.remove_pod(low.uid); });
    holder("higher", "a", 0, 16, 20);
    evictions_.fail_with(Error{Code::unavailable, "500"});
    writes_after(1s);
    EXPECT_EQ(writes_after(PromisedRooms::kLost).back(), "nominate high a");
    EXPECT_FALSE(is_kept(high, "a"));
    evictions_.fail_with({});
    EXPECT_EQ(writes_after(RefusedPods::kRetry).back(), "clear high");
    EXPECT_EQ(std::ranges::count(writes_after(60s), "clear high"), 1);
}

// Goal: who does not end is waited for, and not for ever: after a while others end elsewhere, and
// nobody else waits on that node. Where there is nobody else the room stays kept.
TEST_F(OwnPreemptionTest, AVictimThatDoesNotEnd) {
    node("a", 1);
    PodFacts stuck = holder("x", "a", 0, 16, 1);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    const Writes one = {"evict x", "mark x for high", "nominate high a"};
    EXPECT_EQ(writes_after(2s), one);
    stuck.terminating = true;
    tell([&](ClusterState& state) { state.set_pod(stuck); });
    for (auto time = 0s; time <= PromisedRooms::kSlow; time += 60s) {
        EXPECT_TRUE(refuse(high, {"a"}));
        EXPECT_EQ(writes_after(60s), one);
    }
    EXPECT_TRUE(is_kept(high, "a"));
    node("b", 1);
    const PodFacts y = holder("y", "b", 0, 16, 2);
    evictions_.guard(y.uid);
    EXPECT_TRUE(refuse(high, {"a", "b"}));
    EXPECT_EQ(writes_after(60s), one);
    EXPECT_TRUE(is_kept(high, "a")) << "as long as nobody else may end";
    node("c", 1);
    holder("z", "c", 0, 16, 3);
    EXPECT_TRUE(refuse(high, {"a", "b", "c"}));
    writes_after(60s);
    EXPECT_TRUE(is_kept(high, "c"));
    EXPECT_EQ(evictions_.writes()[3], "clear high");
    EXPECT_EQ(evictions_.writes().back(), "nominate high c");
    EXPECT_TRUE(refuse(waits("other", 16, 9), {"a", "b", "c"}));
    writes_after(60s);
    EXPECT_EQ(evictions_.writes().back(), "nominate high c") << "x ends, and nobody waits for it";
}

// Goal: what was begun ends with the pod that waits, and with the Lease; a pod that is gone holds
// no room.
TEST_F(OwnPreemptionTest, BegunAndNotNeeded) {
    const auto [high, first, second, one] = half_made();
    evictions_.allow({second.uid}, 1);
    leads_ = false;
    EXPECT_EQ(writes_after(RefusedPods::kRetry), one);
    leads_ = true;
    tell([&](ClusterState& state) { state.remove_pod(high.uid); });
    EXPECT_EQ(writes_after(RefusedPods::kRetry), one);
}

// Goal: room that is on its way is kept, though others could be ended elsewhere.
TEST_F(OwnPreemptionTest, RoomOnItsWay) {
    node("a", 1);
    node("b", 1);
    holder("low", "a", 0, 16, 1);
    PodFacts ending = holder("ending", "b", 0, 16, 20);
    ending.terminating = true;
    tell([&](ClusterState& state) { state.set_pod(ending); });
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a", "b"}));
    EXPECT_EQ(writes_after(2s), Writes{"nominate high b"}) << "other replicas see it by that";
    EXPECT_TRUE(is_kept(high, "b"));
    // It may not run there any more: kube-scheduler does not ask about that node.
    for (auto time = 0s; time < PromisedRooms::kNotAsked; time += 60s) {
        EXPECT_TRUE(is_kept(high, "b"));
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(60s);
    }
    EXPECT_TRUE(is_kept(high, "b"));
    EXPECT_TRUE(refuse(high, {"a"}));
    writes_after(60s);
    EXPECT_FALSE(is_kept(high, "b"));
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(60s).back(), "nominate high a") << "nobody has ended in vain";
}

// Goal: room that lies free and that kube-scheduler does not take goes to others in the end; not
// before it is free.
TEST_F(OwnPreemptionTest, RoomThatNobodyClaims) {
    node("a", 1);
    const PodFacts low = holder("low", "a", 0, 16, 1);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate high a");
    for (int i = 0; i < 3; ++i) {
        writes_after(PromisedRooms::kUnclaimed);
        EXPECT_TRUE(is_kept(high, "a")) << "its victim still ends";
    }
    tell([&](ClusterState& state) { state.remove_pod(low.uid); });
    writes_after(1s);
    writes_after(PromisedRooms::kUnclaimed - 1s);
    EXPECT_TRUE(is_kept(high, "a"));
    writes_after(1s);
    EXPECT_FALSE(is_kept(high, "a")) << "its nomination keeps nothing either";
    EXPECT_EQ(evictions_.writes().back(), "clear high") << "nor with other replicas";

    holder("again", "a", 0, 16, 1);
    const auto ended = [&] { return std::ranges::count(evictions_.writes(), "evict again"); };
    for (auto rests = 60s; rests < PromisedRooms::kRest; rests += 60s) {
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(60s);
        EXPECT_EQ(ended(), 0) << "not at once again";
    }
    EXPECT_TRUE(refuse(high, {"a"}));
    writes_after(60s);
    EXPECT_EQ(ended(), 1);
}

// Goal: when the pod is gone, or found a place, between two evictions, the second does not happen;
// nor when this controller is to stop, or lost its Lease.
TEST_F(OwnPreemptionTest, StopsBetweenVictims) {
    const Writes one = {"evict x", "mark x for high"};
    for (const std::string why : {"gone", "nominated", "lease"}) {
        FakeEvictions evictions;
        Keeper keeper([] {});
        bool leads = true;
        OwnPreemption preemption(
            {evictions, keeper, metrics_, clock_, [&](std::chrono::nanoseconds) { return leads; }});
        PodFacts high = build::pod("high", build::native(gibibytes(16)));
        high.priority = 10;
        keeper.ask([&](ClusterState& state) {
            state.set_node(build::node("a", 1, gibibytes(16)));
            for (const char* name : {"x", "y"}) {
                const PodFacts pod = build::pod(name, build::native(gibibytes(8)));
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
            keeper.ask([&](ClusterState& state) {
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

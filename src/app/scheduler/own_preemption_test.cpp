#include "app/scheduler/own_preemption.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "domain/placement/binpack.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_evictions.hpp"

namespace tessera {
namespace {

using namespace std::chrono_literals;
using Writes = std::vector<std::string>;

class OwnPreemptionTest : public ::testing::Test {
  protected:
    // The watch shows every nomination.
    OwnPreemptionTest() {
        evictions_.on_nominate([this](const PodUid& uid, const NodeName& node) {
            PodFacts& pod = waiting_.at(uid);
            pod.nominated = node;
            keeper_.ask([&](ClusterState& state) { return state.set_pod(pod); });
        });
    }
    void tell(const Keeper::Change& change) {
        keeper_.post(change);
        keeper_.apply();
    }
    // `count` cards of 16 GiB.
    void node(const std::string& name, int count) {
        tell([=](ClusterState& state) { state.set_node(build::node(name, count, gibibytes(16))); });
    }
    PodFacts holder(const std::string& name, const std::string& node, int card, int gib,
                    int priority) {
        PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        pod.priority = priority;
        const GpuUuid uuid("GPU-" + node + "-" + std::to_string(card));
        pod = build::bound(pod,
                           build::allocation(pod, node, {{uuid, card, gibibytes(gib), {}, false}}));
        tell([pod](ClusterState& state) { state.set_pod(pod); });
        return pod;
    }
    PodFacts waits(const std::string& name, int gib, int priority) {
        PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        pod.priority = priority;
        waiting_[pod.uid] = pod;
        tell([pod](ClusterState& state) { state.set_pod(pod); });
        return pod;
    }
    void nominate(const PodFacts& pod, const std::string& node) {
        waiting_.at(pod.uid).nominated = NodeName(node);
        tell([now = waiting_.at(pod.uid)](ClusterState& state) { state.set_pod(now); });
    }
    // Every node of the list refuses the pod.
    bool refuse(const PodFacts& pod, const std::vector<std::string_view>& nodes) {
        ExtenderArgs args;
        args.pod = pod;
        args.names = nodes;
        FilterAnswer answer;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            answer.failed.push_back({i, "no room"});
        const bool may_help = preemption_.may_help(args, answer);
        if (may_help) preemption_.note(args, answer);
        return may_help;
    }
    // All so far, when the pods whose time it is then have been looked after.
    const Writes& writes_after(std::chrono::nanoseconds time) {
        clock_.advance(time);
        preemption_.run_round();
        return evictions_.writes();
    }
    // Whether the room on that node is kept for the pod.
    bool is_kept(const PodFacts& pod, const std::string& node) {
        return keeper_.ask([&](ClusterState& state) {
            const PendingPod* pending = state.pending(pod.uid);
            return pending != nullptr && pending->kept_on() == NodeName(node);
        });
    }

    struct HalfMade {
        PodFacts high;
        PodFacts first;
        PodFacts second;
        Writes one;  // so far
    };
    // Two pods fill a card, and a budget allows one eviction: `first` has ended for `high`.
    HalfMade half_made() {
        node("a", 1);
        const PodFacts first = holder("x", "a", 0, 8, 1);
        const PodFacts second = holder("y", "a", 0, 8, 1);
        evictions_.allow({first.uid, second.uid}, 1);
        const PodFacts high = waits("high", 16, 10);
        EXPECT_TRUE(refuse(high, {"a"}));
        const Writes one = {"evict x", "mark x for high"};
        EXPECT_EQ(writes_after(2s), one);
        return {high, first, second, one};
    }

    FakeClock clock_;
    Keeper keeper_{[] {}};
    std::map<PodUid, PodFacts> waiting_;
    FakeEvictions evictions_;
    SchedulerMetrics metrics_{clock_};
    bool leads_ = true;
    int announced_ = 0;  // writes, for which the Lease is kept
    OwnPreemption preemption_{evictions_,
                              keeper_,
                              metrics_,
                              clock_,
                              binpack_policy(),
                              [this](std::chrono::nanoseconds within) {
                                  if (within > 0ns) ++announced_;
                                  return leads_;
                              }};
};

// Goal: the pods whose end costs least, on the cheapest node, after the room is kept and before the
// nomination; not before kube-scheduler had its time since the first refusal; once.
TEST_F(OwnPreemptionTest, TheCheapestNode) {
    node("a", 1);
    node("b", 2);
    holder("dear", "a", 0, 12, 5);
    holder("x", "b", 0, 8, 1);
    holder("y", "b", 0, 8, 1);
    holder("z", "b", 1, 16, 2);
    const PodFacts high = waits("high", 16, 10);
    evictions_.on_evict([&](const PodName&) { EXPECT_TRUE(is_kept(high, "b")); });
    EXPECT_TRUE(refuse(high, {"a", "b", "unknown"}));
    EXPECT_EQ(writes_after(1s), Writes{});
    EXPECT_TRUE(refuse(high, {"a", "b", "unknown"}));
    const Writes all = {"evict x", "mark x for high", "evict y", "mark y for high",
                        "nominate high b"};
    EXPECT_EQ(writes_after(1s), all);
    EXPECT_EQ(writes_after(60s), all);
    const auto view = keeper_.view();
    EXPECT_NE(
        metrics_.expose({.view = *view, .waiting = {}}).find("tessera_preempted_pods_total 2"),
        std::string::npos);
}

// Goal: who must not end stays, though the others cost more, and is not asked about again at once;
// nobody ends where none may. Then it is tried again.
TEST_F(OwnPreemptionTest, Budgets) {
    node("a", 2);
    const PodFacts guarded = holder("guarded", "a", 0, 16, 1);
    holder("x", "a", 1, 8, 2);
    const PodFacts last = holder("y", "a", 1, 8, 3);
    evictions_.guard(guarded.uid);
    evictions_.guard(last.uid);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_EQ(evictions_.questions(), 2) << "guarded, y";
    EXPECT_EQ(announced_, 0) << "who only asks keeps the Lease from nobody";
    EXPECT_EQ(writes_after(OwnPreemption::kRetry), Writes{});
    EXPECT_EQ(evictions_.questions(), 2);

    const PodFacts small = waits("small", 8, 10);
    EXPECT_TRUE(refuse(small, {"a"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict x", "mark x for small", "nominate small a"}));
}

// Goal: more guarded pods than are asked about while the first of them are left alone keep nobody
// from the one behind them.
TEST_F(OwnPreemptionTest, ManyGuarded) {
    constexpr int kTurns = 2 + OwnPreemption::kGuarded / OwnPreemption::kRetry;
    constexpr int kMore = kTurns * OwnPreemption::kMostGuarded + 3;
    node("a", kMore + 1);
    for (int i = 0; i < kMore; ++i)
        evictions_.guard(holder("guarded-" + std::to_string(i), "a", i, 16, 1).uid);
    holder("x", "a", kMore, 16, 2);
    EXPECT_TRUE(refuse(waits("high", 16, 10), {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    for (int turn = 1; turn < kTurns; ++turn)
        EXPECT_EQ(writes_after(OwnPreemption::kRetry), Writes{});
    ASSERT_FALSE(writes_after(OwnPreemption::kRetry).empty());
    EXPECT_EQ(evictions_.writes().front(), "evict x");
}

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
    EXPECT_EQ(writes_after(OwnPreemption::kRetry), one);
    EXPECT_TRUE(is_kept(high, "a"));
    evictions_.allow({second.uid}, 1);
    const Writes both = {"evict x", "mark x for high", "evict y", "mark y for high",
                         "nominate high a"};
    EXPECT_EQ(writes_after(OwnPreemption::kRetry), both);
    EXPECT_EQ(writes_after(60s), both);
}

// Goal: where the second never may, the room goes to others after a while, and nobody ends in vain
// on the next card, though each may be evicted for itself; where one end is enough it goes on.
TEST_F(OwnPreemptionTest, OneInVainIsEnough) {
    node("a", 2);
    std::set<PodUid> all;
    for (int card : {0, 1}) {
        for (const std::string name : {"x", "y"})
            all.insert(holder(name + std::to_string(card), "a", card, 8, 1).uid);
    }
    evictions_.allow(all, 1);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    const Writes one = {"evict x0", "mark x0 for high"};
    EXPECT_EQ(writes_after(2s), one);
    tell([&](ClusterState& state) { state.remove_pod(PodUid("uid-x0")); });
    for (auto time = 0s; time < OwnPreemption::kMaking; time += OwnPreemption::kRetry)
        EXPECT_EQ(writes_after(OwnPreemption::kRetry), one);
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
    const auto made = keeper_.ask([&](ClusterState& state) {
        return state.reserve(build::ask(high), NodeName("b"), binpack_policy());
    });
    ASSERT_TRUE(made);
    evictions_.allow({second.uid}, 1);
    EXPECT_EQ(writes_after(OwnPreemption::kRetry), one);
    tell([&](ClusterState& state) { state.refuse(made->attempt); });
    EXPECT_TRUE(is_kept(high, "a"));
    EXPECT_EQ(writes_after(OwnPreemption::kRetry).back(), "nominate high a");
}

// Goal: what was begun on a node where the pod may not run any more goes no further.
TEST_F(OwnPreemptionTest, BegunWhereItMayNotRun) {
    const auto [high, first, second, one] = half_made();
    EXPECT_TRUE(refuse(high, {"unknown"}));
    EXPECT_EQ(writes_after(2s), one);
    EXPECT_FALSE(is_kept(high, "a"));
    evictions_.allow({second.uid}, 1);
    EXPECT_EQ(writes_after(60s), one);
}

// Goal: what was begun ends with the pod that waits, and with the Lease; a pod that is gone holds
// no room.
TEST_F(OwnPreemptionTest, BegunAndNotNeeded) {
    const auto [high, first, second, one] = half_made();
    evictions_.allow({second.uid}, 1);
    leads_ = false;
    EXPECT_EQ(writes_after(OwnPreemption::kRetry), one);
    leads_ = true;
    tell([&](ClusterState& state) { state.remove_pod(high.uid); });
    EXPECT_EQ(writes_after(OwnPreemption::kRetry), one);
}

// Goal: an API server in trouble is no reason to end dearer pods; it is asked again.
TEST_F(OwnPreemptionTest, TroubleIsNoBudget) {
    node("a", 2);
    holder("x", "a", 0, 16, 1);
    holder("dear", "a", 1, 16, 9);
    evictions_.fail_with(Error{Code::unavailable, "500"});
    EXPECT_TRUE(refuse(waits("high", 16, 10), {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_EQ(evictions_.questions(), 1);
    evictions_.fail_with({});
    EXPECT_EQ(writes_after(OwnPreemption::kRetry).front(), "evict x");
}

// Goal: nobody is evicted for a pod that may not preempt, that others do not stand below, that
// found room, that is nominated, or that is gone.
TEST_F(OwnPreemptionTest, NobodyInVain) {
    node("a", 1);
    PodFacts held = holder("low", "a", 0, 16, 5);
    PodFacts never = waits("never", 16, 10);
    never.preempts = false;
    EXPECT_FALSE(refuse(never, {"a"}));
    EXPECT_FALSE(refuse(waits("equal", 16, 5), {"a"}));
    EXPECT_FALSE(refuse(waits("nowhere", 16, 10), {}));

    const PodFacts nominated = waits("nominated", 16, 10);
    const PodFacts gone = waits("gone", 16, 10);
    const PodFacts lucky = waits("lucky", 16, 10);
    for (const PodFacts& pod : {nominated, gone, lucky})
        EXPECT_TRUE(refuse(pod, {"a"}));
    node("b", 1);
    nominate(nominated, "b");
    tell([&](ClusterState& state) { state.remove_pod(gone.uid); });
    preemption_.forget(lucky.uid);
    EXPECT_EQ(writes_after(2s), Writes{});

    const PodFacts later = waits("later", 16, 11);
    EXPECT_TRUE(refuse(later, {"a"}));
    tell([&](ClusterState& state) { state.remove_pod(held.uid); });
    EXPECT_EQ(writes_after(2s), Writes{"nominate later a"}) << "it fits now, and may be told";
    EXPECT_EQ(evictions_.questions(), 0);
}

// Goal: a nomination whose room has gone to a higher pod holds nobody up: others end for it
// elsewhere.
TEST_F(OwnPreemptionTest, ANominationThatCameToNothing) {
    node("a", 1);
    node("b", 1);
    holder("low", "a", 0, 16, 1);
    holder("higher", "b", 0, 16, 20);
    const PodFacts high = waits("high", 16, 10);
    nominate(high, "b");
    EXPECT_TRUE(refuse(high, {"a", "b"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict low", "mark low for high", "nominate high a"}));
    EXPECT_TRUE(is_kept(high, "a"));
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
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s).back(), "nominate high a");
    EXPECT_TRUE(is_kept(high, "a"));
    // Nor here, and nowhere else: nobody else's room is kept for it in vain.
    EXPECT_TRUE(refuse(high, {"unknown"}));
    writes_after(2s);
    EXPECT_FALSE(is_kept(high, "a"));
}

// Goal: a nomination to a node that kube-scheduler does not ask about is its own affair for some
// time, and holds nobody up for ever.
TEST_F(OwnPreemptionTest, ANominationThatNobodyAsksAbout) {
    node("a", 1);
    node("b", 1);
    const PodFacts low = holder("low", "a", 0, 16, 1);
    evictions_.guard(low.uid);
    const PodFacts high = waits("high", 16, 10);
    nominate(high, "b");
    for (auto asked = 60s; asked < OwnPreemption::kBelieved; asked += 60s) {
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(2s);
        EXPECT_EQ(writes_after(58s), Writes{});
        EXPECT_TRUE(is_kept(high, "b"));
    }
    EXPECT_EQ(evictions_.questions(), 0);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(70s), Writes{});
    EXPECT_FALSE(is_kept(high, "b"));
    EXPECT_EQ(evictions_.questions(), 1) << "once is not enough: it is asked again";
    writes_after(OwnPreemption::kGuarded);
    EXPECT_EQ(evictions_.questions(), 2);
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
        writes_after(OwnPreemption::kUnclaimed);
        EXPECT_TRUE(is_kept(high, "a")) << "its victim still ends";
    }
    tell([&](ClusterState& state) { state.remove_pod(low.uid); });
    writes_after(1s);
    writes_after(OwnPreemption::kUnclaimed - 1s);
    EXPECT_TRUE(is_kept(high, "a"));
    writes_after(1s);
    EXPECT_FALSE(is_kept(high, "a")) << "its nomination keeps nothing either";

    holder("again", "a", 0, 16, 1);
    const auto ended = [&] { return std::ranges::count(evictions_.writes(), "evict again"); };
    for (auto rests = 60s; rests < OwnPreemption::kRest; rests += 60s) {
        EXPECT_TRUE(refuse(high, {"a"}));
        writes_after(60s);
        EXPECT_EQ(ended(), 0) << "not at once again";
    }
    EXPECT_TRUE(refuse(high, {"a"}));
    writes_after(60s);
    EXPECT_EQ(ended(), 1);
}

// Goal: what kube-scheduler asks for no more, and what was refused long ago, is acted on by nobody.
TEST_F(OwnPreemptionTest, OldRefusals) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    EXPECT_TRUE(refuse(waits("high", 16, 10), {"a"}));
    leads_ = false;
    for (auto away = 0s; away < OwnPreemption::kForgotten; away += 60s)
        EXPECT_EQ(writes_after(60s), Writes{});
    EXPECT_EQ(evictions_.questions(), 0) << "who does not lead asks nothing";
    leads_ = true;
    EXPECT_EQ(writes_after(60s), Writes{});
}

// Goal: when the pod is gone, or found a place, between two evictions, the second does not happen;
// nor when this controller is to stop, or lost its Lease.
TEST_F(OwnPreemptionTest, StopsBetweenVictims) {
    const Writes one = {"evict x", "mark x for high"};
    for (const std::string why : {"gone", "nominated", "lease"}) {
        FakeEvictions evictions;
        Keeper keeper([] {});
        bool leads = true;
        OwnPreemption preemption(evictions, keeper, metrics_, clock_, binpack_policy(),
                                 [&](std::chrono::nanoseconds) { return leads; });
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

// Goal: of two pods the more important one is served first, and the other gets neither the same
// room nor victims that end already.
TEST_F(OwnPreemptionTest, TheMostImportantFirst) {
    node("a", 1);
    node("b", 1);
    holder("x", "a", 0, 16, 1);
    holder("y", "b", 0, 16, 2);
    EXPECT_TRUE(refuse(waits("second", 16, 10), {"a", "b"}));
    EXPECT_TRUE(refuse(waits("first", 16, 11), {"a", "b"}));
    EXPECT_EQ(writes_after(2s), (Writes{"evict x", "mark x for first", "nominate first a",
                                        "evict y", "mark y for second", "nominate second b"}));
}

// Goal: two pods that fit on one card together end two others, each once.
TEST_F(OwnPreemptionTest, NobodyEndsTwice) {
    node("a", 1);
    holder("x", "a", 0, 8, 1);
    holder("y", "a", 0, 8, 1);
    EXPECT_TRUE(refuse(waits("first", 8, 11), {"a"}));
    EXPECT_TRUE(refuse(waits("second", 8, 10), {"a"}));
    const Writes& all = writes_after(2s);
    EXPECT_EQ(std::ranges::count(all, "evict x"), 1);
    EXPECT_EQ(std::ranges::count(all, "evict y"), 1);
}

// Goal: of too many pods the least important ones are left out, until they are refused again.
TEST_F(OwnPreemptionTest, TooMany) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    const PodFacts least = waits("least", 16, 3);
    EXPECT_TRUE(refuse(least, {"a"}));
    for (std::size_t i = 0; i < OwnPreemption::kMost; ++i)
        EXPECT_TRUE(refuse(waits("more-" + std::to_string(i), 16, 4), {"unknown"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_TRUE(refuse(least, {"a"}));
    EXPECT_EQ(writes_after(2s).front(), "evict x");
}

// Goal: among many equals each has its turn, whatever its uid.
TEST_F(OwnPreemptionTest, TooManyEquals) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    const PodFacts lucky = waits("0-first-in-every-order", 16, 4);
    for (int burst = 0; burst < 200 && evictions_.writes().empty(); ++burst) {
        EXPECT_TRUE(refuse(lucky, {"a"}));
        for (std::size_t i = 0; i < OwnPreemption::kMost + 6; ++i)
            EXPECT_TRUE(refuse(waits("more-" + std::to_string(i), 16, 4), {"unknown"}));
        writes_after(2s);
    }
    ASSERT_FALSE(evictions_.writes().empty());
    EXPECT_EQ(evictions_.writes().front(), "evict x");
}

// Goal: whoever does not lead ends nobody; a pod that was told to end is counted though the mark
// could not be written.
TEST_F(OwnPreemptionTest, NoLeaseNoEnd) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    const PodFacts high = waits("high", 16, 10);
    leads_ = false;
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    EXPECT_FALSE(is_kept(high, "a"));
    leads_ = true;
    EXPECT_EQ(writes_after(OwnPreemption::kRetry).front(), "evict x");
}

// Goal: a round that is to stop begins nothing.
TEST_F(OwnPreemptionTest, Stops) {
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

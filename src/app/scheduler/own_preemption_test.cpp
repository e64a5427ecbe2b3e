#include "app/scheduler/own_preemption.hpp"

#include <gtest/gtest.h>

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
    OwnPreemptionTest() {
        // The watch shows what was written.
        evictions_.on_nominate([this](const PodUid& uid, const NodeName& node) {
            PodFacts pod = waiting_.at(uid);
            pod.nominated = node;
            tell([pod](ClusterState& state) { state.set_pod(pod); });
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
    const Writes& writes_after(std::chrono::nanoseconds time) {
        clock_.advance(time);
        preemption_.run_round();
        return evictions_.writes();
    }

    FakeClock clock_;
    Keeper keeper_{[] {}};
    FakeEvictions evictions_;
    SchedulerMetrics metrics_{clock_};
    std::map<PodUid, PodFacts> waiting_;
    bool leads_ = true;
    OwnPreemption preemption_{
        evictions_, keeper_,          metrics_,
        clock_,     binpack_policy(), [this](std::chrono::nanoseconds) { return leads_; }};
};

// Goal: the pods whose end costs least, on the cheapest node, after the nomination that keeps their
// room; not before kube-scheduler had its time; once for each refusal.
TEST_F(OwnPreemptionTest, TheCheapestNode) {
    node("a", 1);
    node("b", 2);
    holder("dear", "a", 0, 12, 5);
    holder("x", "b", 0, 8, 1);
    holder("y", "b", 0, 8, 1);
    holder("z", "b", 1, 16, 2);
    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a", "b", "unknown"}));
    EXPECT_EQ(writes_after(1s), Writes{});
    EXPECT_EQ(writes_after(1s),
              (Writes{"nominate high b", "evict x for high", "evict y for high"}));
    EXPECT_EQ(writes_after(5s).size(), 3U);
}

// Goal: who must not end stays, though the others cost more; nobody ends where none may.
TEST_F(OwnPreemptionTest, Budgets) {
    node("a", 2);
    const PodFacts guarded = holder("guarded", "a", 0, 16, 1);
    holder("x", "a", 1, 8, 2);
    const PodFacts last = holder("y", "a", 1, 8, 3);
    evictions_.guard(guarded.uid);
    const PodFacts high = waits("high", 16, 10);
    evictions_.guard(last.uid);
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    const PodFacts small = waits("small", 8, 10);
    EXPECT_TRUE(refuse(small, {"a"}));
    EXPECT_EQ(writes_after(2s), (Writes{"nominate small a", "evict x for small"}));
}

// Goal: nobody is evicted for a pod that may not preempt, that others do not stand below, that
// found room, that is nominated, or that is gone; room that is on its way is kept for it.
TEST_F(OwnPreemptionTest, NobodyInVain) {
    node("a", 1);
    PodFacts held = holder("low", "a", 0, 16, 5);
    PodFacts never = waits("never", 16, 10);
    never.preempts = false;
    EXPECT_FALSE(refuse(never, {"a"}));
    EXPECT_FALSE(refuse(waits("equal", 16, 5), {"a"}));
    EXPECT_FALSE(refuse(waits("nowhere", 16, 10), {}));

    PodFacts nominated = waits("nominated", 16, 10);
    const PodFacts gone = waits("gone", 16, 10);
    EXPECT_TRUE(refuse(nominated, {"a"}));
    EXPECT_TRUE(refuse(gone, {"a"}));
    nominated.nominated = NodeName("b");
    tell([&](ClusterState& state) {
        state.set_pod(nominated);
        state.remove_pod(gone.uid);
    });
    EXPECT_EQ(writes_after(2s), Writes{});

    const PodFacts high = waits("high", 16, 10);
    EXPECT_TRUE(refuse(high, {"a"}));
    held.terminating = true;
    tell([&](ClusterState& state) { state.set_pod(held); });
    EXPECT_EQ(writes_after(2s), Writes{"nominate high a"});

    const PodFacts later = waits("later", 16, 11);
    EXPECT_TRUE(refuse(later, {"a"}));
    tell([&](ClusterState& state) { state.remove_pod(held.uid); });
    EXPECT_EQ(writes_after(2s).size(), 1U) << "it fits now";
}

// Goal: of two pods the more important one is served first, and the other does not get the same
// room; of too many the least important ones are left out.
TEST_F(OwnPreemptionTest, TheMostImportantFirst) {
    node("a", 1);
    node("b", 1);
    holder("x", "a", 0, 16, 1);
    holder("y", "b", 0, 16, 2);
    const PodFacts second = waits("second", 16, 10);
    const PodFacts first = waits("first", 16, 11);
    EXPECT_TRUE(refuse(second, {"a", "b"}));
    EXPECT_TRUE(refuse(first, {"a", "b"}));
    EXPECT_EQ(writes_after(2s), (Writes{"nominate first a", "evict x for first",
                                        "nominate second b", "evict y for second"}));

    const PodFacts least = waits("least", 16, 3);
    EXPECT_TRUE(refuse(least, {"a", "b"}));
    for (std::size_t i = 0; i < OwnPreemption::kMost; ++i)
        EXPECT_TRUE(refuse(waits("more-" + std::to_string(i), 16, 4), {"c"}));
    EXPECT_EQ(writes_after(2s).size(), 4U);
}

// Goal: whoever does not lead writes nothing, and nobody ends whose room is not kept.
TEST_F(OwnPreemptionTest, NoWriteNoEnd) {
    node("a", 1);
    holder("x", "a", 0, 16, 1);
    const PodFacts high = waits("high", 16, 10);
    leads_ = false;
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
    leads_ = true;
    evictions_.refuse({Code::permission_denied, "pods/status"});
    EXPECT_TRUE(refuse(high, {"a"}));
    EXPECT_EQ(writes_after(2s), Writes{});
}

}  // namespace
}  // namespace tessera

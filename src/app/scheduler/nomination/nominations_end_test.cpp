#include "app/scheduler/nomination/nominator_test.hpp"

namespace tessera {
namespace {

// Goal: a nomination that kube-scheduler does not follow is removed, its GPUs are free again, and
// the pod is nominated elsewhere, but not to more than kMostNodes nodes.
TEST_F(NominatorTest, NotFollowed) {
    for (const char* name : {"a", "b", "c", "d"})
        node(name, 1);
    const PodInfo pod = later("p", 10);
    EXPECT_EQ(writes_after(), Writes{"nominate p a"});
    asks(pod, {"b", "c", "d"}, {0});
    EXPECT_EQ(writes_after(1s).size(), 1U) << "it may be on its way to b";
    writes_after(2s);
    EXPECT_EQ(writes_after(1s), (Writes{"nominate p a", "clear p"})) << "b may still bind it";
    asks(pod, {"b", "c", "d"}, {});
    Writes expected{"nominate p a", "clear p", "nominate p b"};
    EXPECT_EQ(writes_after(1s), expected);
    asks(pod, {"c", "d"}, {});
    writes_after(2s);
    writes_after(1s);
    asks(pod, {"d"}, {});
    writes_after(2s);
    writes_after(1s);
    expected.insert(expected.end(), {"clear p", "nominate p c", "clear p"});
    EXPECT_EQ(writes_after(1h), expected);
    EXPECT_EQ(reserved_on(pod), NodeName());
    EXPECT_EQ(nominator_.count(), 0U);
}

// Goal: a nomination that kube-scheduler follows stays until the pod is bound.
TEST_F(NominatorTest, Followed) {
    node("a", 1);
    const PodInfo pod = later("p", 10);
    writes_after();
    asks(pod, {"a"}, {0});
    EXPECT_EQ(writes_after(5s), Writes{"nominate p a"});
    PodInfo bound = build::bound(
        pod, build::allocation(pod, "a", {{GpuUuid("GPU-a-0"), 0, gibibytes(10), {}, false}}));
    show(bound);
    EXPECT_EQ(writes_after(5s), Writes{"nominate p a"});
    EXPECT_EQ(nominator_.count(), 0U);
}

// Goal: GPUs are not reserved for ever for a pod that kube-scheduler does not take. If it has not
// come to the pod, the node may be right. If it has passed the pod, it may not use the node.
TEST_F(NominatorTest, NotAskedAbout) {
    node("a", 1);
    node("b", 1);
    const PodInfo pod = later("p", 10);
    EXPECT_EQ(writes_after(), Writes{"nominate p a"});
    EXPECT_EQ(writes_after(Nominator::kUnasked - 1s).size(), 1U);
    writes_after(1s);
    Writes expected{"nominate p a", "clear p"};
    EXPECT_EQ(writes_after(1s), expected);
    expected.emplace_back("nominate p a");
    EXPECT_EQ(writes_after(Nominator::kRest), expected);

    const PodInfo behind = later("q", 6);
    expected.emplace_back("nominate q a");
    EXPECT_EQ(writes_after(), expected);
    asks(behind, {"a"}, {0});
    writes_after(Nominator::kUnasked);
    expected.insert(expected.end(), {"clear p", "clear q", "nominate p b"});
    EXPECT_EQ(writes_after(1s), expected);
}

// Goal: a nomination whose answer was lost may have been written, and is removed, too.
TEST_F(NominatorTest, LostAnswer) {
    node("a", 1);
    const PodInfo pod = later("p", 10);
    api_.fail_with(Error{Code::unavailable, "no answer"});
    EXPECT_EQ(writes_after(), Writes{});
    EXPECT_EQ(reserved_on(pod), NodeName("a"));
    writes_after();
    EXPECT_EQ(reserved_on(pod), NodeName());
    api_.fail_with(std::nullopt);
    pods_.at(pod.uid).nominated = NodeName("a");  // it was written
    pods_.at(pod.uid).is_nominated_ahead = true;
    show(pods_.at(pod.uid));
    EXPECT_EQ(writes_after(1s), Writes{"clear p"});
}

// Goal: a replica that leads no more nominates nothing, and counts only what the API shows. The
// next leader goes on with the nominations of the last one, and removes those without success.
TEST_F(NominatorTest, ChangeOfTheLeader) {
    node("a", 1);
    const PodInfo shown = later("shown", 4);
    writes_after();
    is_watch_on_ = false;
    const PodInfo hidden = later("hidden", 4);
    EXPECT_EQ(writes_after(), (Writes{"nominate shown a", "nominate hidden a"}));
    leads_ = false;
    later("too-late", 4);
    EXPECT_EQ(writes_after().size(), 2U);
    EXPECT_EQ(reserved_on(shown), NodeName("a"));
    EXPECT_EQ(reserved_on(hidden), NodeName()) << "the watch may never show it";

    leads_ = true;
    is_watch_on_ = true;
    NominatorTools tools = this->tools();
    tools.skip = 1'000;
    Nominator next(tools);
    next.run_round();
    EXPECT_EQ(next.count(), 1U);
    EXPECT_EQ(reserved_on(shown), NodeName("a"));
    clock_.advance(Nominator::kUnasked);
    next.run_round();
    EXPECT_EQ(reserved_on(shown), NodeName());
    EXPECT_EQ(api_.writes().back(), "clear shown");
}

// Goal: a nomination of another program stops counting after some time, and is not removed.
TEST_F(NominatorTest, ANominationOfAnotherProgram) {
    node("a", 1);
    PodInfo waits = pod("p", "2026-01-02T00:00:00Z", 16);
    waits.nominated = NodeName("a");
    show(waits);
    writes_after();
    EXPECT_EQ(reserved_on(waits), NodeName("a"));
    EXPECT_EQ(writes_after(Nominator::kForeign), Writes{});
    EXPECT_EQ(reserved_on(waits), NodeName());
}

// Goal: what was given up is removed from the API also if the replica leads again only later.
TEST_F(NominatorTest, RemovesWhatItGaveUpWhenItLeadsAgain) {
    node("a", 1);
    const PodInfo pod = later("p", 10);
    writes_after();
    asks(pod, {"a"}, {});
    clock_.advance(Nominator::kOnItsWay);
    api_.fail_with(Error{Code::unavailable, "no answer"});
    nominator_.run_round();
    leads_ = false;
    nominator_.run_round();
    leads_ = true;
    api_.fail_with(std::nullopt);
    EXPECT_EQ(writes_after(20s), (Writes{"nominate p a", "clear p", "nominate p a"}));
}

// Goal: a nomination that was given up while the pod was being bound is removed if the bind fails.
TEST_F(NominatorTest, GivenUpAndThenBound) {
    node("a", 1);
    node("b", 1);
    const PodInfo pod = later("p", 10);
    writes_after();
    asks(pod, {"b"}, {0});
    clock_.advance(Nominator::kOnItsWay);
    api_.fail_with(Error{Code::unavailable, "no answer"});
    nominator_.run_round();
    const Attempt attempt = cache_.call([&](ClusterState& state) {
        return state.reserve(**state.pending(pod.uid)->request, NodeName("b"))->attempt;
    });
    writes_after(Withdrawals::kShown);
    tell([&](ClusterState& state) { state.release(attempt); });
    api_.fail_with(std::nullopt);
    EXPECT_EQ(writes_after(Withdrawals::kShown),
              (Writes{"nominate p a", "clear p", "nominate p b"}));
}

// Goal: what an earlier leader nominated ends also if nominations are switched off now.
TEST_F(NominatorTest, SwitchedOff) {
    node("a", 1);
    const PodInfo left = later("left", 4);
    const PodInfo foreign = [&] {
        PodInfo waits = pod("foreign", "2026-01-02T00:00:00Z", 4);
        waits.nominated = NodeName("a");
        show(waits);
        return waits;
    }();
    writes_after();
    NominatorTools tools = this->tools();
    tools.schedulers.clear();
    Nominator off(tools);
    off.run_round();
    EXPECT_EQ(off.count(), 1U);
    clock_.advance(Nominator::kForeign);
    off.run_round();
    EXPECT_EQ(reserved_on(left), NodeName());
    EXPECT_EQ(api_.writes(), (Writes{"nominate left a", "clear left"}));
    EXPECT_EQ(reserved_on(foreign), NodeName("a")) << "as without a nominator";
}

// Goal: if kube-scheduler evicts pods on the node that a pod is nominated to, the pod keeps it
// until kube-scheduler takes the pod again.
TEST_F(NominatorTest, StaysWhileSpaceIsMade) {
    node("a", 1);
    node("b", 1);
    const PodInfo waits = later("p", 10);
    EXPECT_EQ(writes_after(), Writes{"nominate p a"});
    const PodInfo victim = terminating("victim", "a", -1);
    asks(waits, {"b"}, {});
    for (int i = 0; i < 3; ++i)
        writes_after(Nominator::kUnasked);
    EXPECT_EQ(reserved_on(waits), NodeName("a"));
    tell([&](ClusterState& state) { state.remove_pod(victim.uid); });
    writes_after(Nominator::kUnasked - 1s);
    EXPECT_EQ(reserved_on(waits), NodeName("a"));
    writes_after(1s);
    EXPECT_EQ(reserved_on(waits), NodeName("b")) << "kube-scheduler did not take it";
}

// Goal: a pod that hangs while it terminates keeps no nomination for ever, asked about or not.
TEST_F(NominatorTest, NotForEverBesideAPodThatHangs) {
    node("a", 1);
    const PodInfo asked = later("p", 4);
    const PodInfo unasked = later("q", 4);
    writes_after();
    terminating("hangs", "a", -1);
    asks(asked, {"b"}, {});
    writes_after(Nominator::kUnasked);
    EXPECT_EQ(reserved_on(asked), NodeName("a"));
    EXPECT_EQ(reserved_on(unasked), NodeName("a"));
    writes_after(Nominator::kMakingSpace);
    writes_after(1s);
    EXPECT_EQ(reserved_on(asked), NodeName());
    EXPECT_EQ(reserved_on(unasked), NodeName());
}

// Goal: only a nomination ahead is removed, not one of kube-scheduler to the same node.
TEST_F(NominatorTest, LeavesANominationOfKubeSchedulerToTheSameNode) {
    node("a", 1);
    const PodInfo pod = later("p", 10);
    is_watch_on_ = false;
    writes_after();
    asks(pod, {"b"}, {});
    writes_after(Nominator::kOnItsWay);
    EXPECT_EQ(reserved_on(pod), NodeName());
    pods_.at(pod.uid).nominated = NodeName("a");
    show(pods_.at(pod.uid));
    EXPECT_EQ(writes_after(1s), Writes{"nominate p a"});
    EXPECT_EQ(reserved_on(pod), NodeName("a"));
}

// Goal: a node that had no GPUs for the pod, because others came before it, may get it later.
TEST_F(NominatorTest, MayGetANodeThatWasFull) {
    node("a", 1);
    const PodInfo pod = later("p", 10);
    writes_after();
    asks(pod, {"a"}, {});
    writes_after(Nominator::kOnItsWay);
    writes_after(1s);
    EXPECT_EQ(writes_after(Nominator::kRest), (Writes{"nominate p a", "clear p", "nominate p a"}));
}

// Goal: a pod for which others of lower priority may have been evicted keeps its node.
TEST_F(NominatorTest, KeepsANominationForWhichPodsEnd) {
    const auto nominated = [&](const char* name, const char* node) {
        PodInfo waits = pod(name, "2026-01-02T00:00:00Z", 10);
        waits.nominated = NodeName(node);
        show(waits);
        return waits;
    };
    node("a", 1);
    node("b", 1);
    terminating("lower", "a", -1);
    terminating("equal", "b", 0);
    const PodInfo p = nominated("p", "a");
    const PodInfo q = nominated("q", "b");
    writes_after();
    writes_after(Nominator::kForeign + 1s);
    EXPECT_EQ(reserved_on(p), NodeName("a"));
    EXPECT_EQ(reserved_on(q), NodeName());
}

}  // namespace
}  // namespace tessera

#include "app/scheduler/scheduler.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "wire/tessera/allocation_json.hpp"

namespace tessera {
namespace {

class Bind : public ::testing::Test {
  protected:
    Bind() { add_node(build::node("n1", 2, gibibytes(16))); }

    void add_node(const NodeInventory& node) {
        kube_.put_node(node);
        cache_.post([node](ClusterState& state) { state.set_node(node); });
        sync_cache();
    }
    PodInfo add_pod(const std::string& name, std::vector<ContainerSpec> containers) {
        PodInfo pod = build::pod(name, std::move(containers));
        kube_.put_pod(pod);
        cache_.post([pod](ClusterState& state) { state.set_pod(pod); });
        return pod;
    }
    Result<> bind(const PodInfo& pod, const std::string& node = "n1") {
        return scheduler_.bind({pod.name, pod.uid, NodeName(node)});
    }
    // The snapshot is published after the batch that has the first call.
    void sync_cache() {
        for (int i = 0; i < 2; ++i)
            cache_.call([](ClusterState&) { return 0; });
    }
    std::vector<std::int64_t> allocated(const std::string& node = "n1") {
        sync_cache();
        const auto snapshot = cache_.snapshot();
        std::vector<std::int64_t> out;
        for (const GpuState& gpu : snapshot->find(node)->gpus)
            out.push_back(gpu.allocated.count / kGiB);
        return out;
    }
    std::size_t unconfirmed() {
        return cache_.call([](ClusterState& state) { return state.unconfirmed().size(); });
    }
    void pass(std::int64_t seconds) { clock_.advance(std::chrono::seconds(seconds)); }

    using Allocated = std::vector<std::int64_t>;
    FakeKubeApi kube_;
    ClusterCache cache_;
    FakeClock clock_;
    Scheduler scheduler_{kube_, cache_, clock_, {}};
};

// Goal: the reason for which a pod that fits nowhere waits is known, until a node takes it.
TEST_F(Bind, KnowsWhatPodsWaitFor) {
    const PodInfo pod = add_pod("large", build::aliyun(17));
    const std::vector<std::string> names = {"n1", "n2"};
    ExtenderArgs args;
    args.pod = pod;
    args.names = {names[0]};
    EXPECT_TRUE(scheduler_.filter(args).fitting.empty());
    const auto too_large = static_cast<std::size_t>(UnschedulableReason::too_large);
    EXPECT_EQ(scheduler_.waiting({pod.uid}).by_reason.at(too_large).pods, 1);
    add_node(build::node("n2", 1, gibibytes(24)));
    args.names = {names[0], names[1]};
    EXPECT_EQ(scheduler_.filter(args).fitting.size(), 1U);
    EXPECT_EQ(scheduler_.waiting({pod.uid}).by_reason.at(too_large).pods, 0);
    EXPECT_EQ(scheduler_.waiting({pod.uid}).not_refused, 1);
}

// Goal: one write binds the pod and carries its allocation; nothing else is written.
TEST_F(Bind, OneWriteWithTheAllocation) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    ASSERT_TRUE(bind(pod));
    const auto writes = kube_.bindings();
    ASSERT_EQ(writes.size(), 1U);
    EXPECT_EQ(writes[0].uid, pod.uid);
    EXPECT_EQ(writes[0].node, NodeName("n1"));
    const auto allocation = read_allocation(writes[0].annotations.at("tessera.dev/allocation"));
    ASSERT_TRUE(allocation);
    EXPECT_EQ(allocation->containers[0].gpus[0].memory, gibibytes(8));
    EXPECT_EQ(writes[0].annotations.at("ALIYUN_COM_GPU_MEM_IDX"), "0");
    EXPECT_EQ(writes[0].annotations.at("ALIYUN_COM_GPU_MEM_ASSUME_TIME"), "1000000000000");
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(kube_.node_patches(), 0);
    EXPECT_EQ(kube_.get_pod(pod.name)->allocation->value(), *allocation);
}

// Goal: a pod without a request is still bound, without annotations: kube-scheduler has delegated
// its bind to us.
TEST_F(Bind, PodWithoutRequest) {
    const PodInfo pod = add_pod("p", {});
    ASSERT_TRUE(bind(pod));
    ASSERT_EQ(kube_.bindings().size(), 1U);
    EXPECT_TRUE(kube_.bindings()[0].annotations.empty());
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: if the watch is behind kube-scheduler, the pod is read, and must have the right uid.
TEST_F(Bind, PodNotYetWatched) {
    const PodInfo pod = build::pod("p", build::aliyun(8));
    kube_.put_pod(pod);
    ASSERT_TRUE(bind(pod));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));

    const PodInfo gone = build::pod("gone", build::aliyun(1));
    EXPECT_EQ(bind(gone).error().code, Code::not_found);
    PodInfo namesake = gone;
    namesake.uid = PodUid("another");
    kube_.put_pod(namesake);
    const auto wrong = bind(gone);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Code::not_found);
    EXPECT_NE(wrong.error().text.find("uid-gone"), std::string::npos);
    EXPECT_EQ(kube_.bindings().size(), 1U) << "no Binding was written for the wrong pod";
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: an impossible bind is refused with the reason before anything is written.
TEST_F(Bind, RefusedBeforeAnyWrite) {
    const auto large = bind(add_pod("large", build::aliyun(17)));
    ASSERT_FALSE(large);
    EXPECT_TRUE(large.error().text.starts_with("Insufficient GPU Memory in one device"));
    const auto nowhere = bind(add_pod("lost", build::aliyun(1)), "nowhere");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().text, "node \"nowhere\" not found");
    const auto wrong =
        bind(add_pod("wrong", {build::container("a", {{"aliyun.com/gpu-mem", "x"}})}));
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().text.find("container a: aliyun.com/gpu-mem"), std::string::npos);
    EXPECT_TRUE(kube_.bindings().empty());
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: a controller that may not write does not, and reserves nothing, whether it lost the Lease
// before the bind or during it. The requested time is that of a Binding.
TEST_F(Bind, FencedOff) {
    int allowed = 0;
    Scheduler fenced(kube_, cache_, clock_,
                     {.fence = WriteFence([&](std::chrono::nanoseconds within) {
                          EXPECT_EQ(within, KubeApi::kBindTakes);
                          return allowed-- > 0;
                      })});
    const PodInfo pod = add_pod("p", build::aliyun(8));
    for (const int times : {0, 1}) {
        allowed = times;
        const auto refused = fenced.bind({pod.name, pod.uid, NodeName("n1")});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::unavailable);
        EXPECT_TRUE(kube_.bindings().empty());
        EXPECT_EQ(allocated(), (Allocated{0, 0}));
    }
    allowed = 2;
    EXPECT_TRUE(fenced.bind({pod.name, pod.uid, NodeName("n1")}));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: kube-scheduler may repeat a bind that succeeded. It gets success again, and nothing is
// written or counted twice (D-14).
TEST_F(Bind, RetryIsIdempotent) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    ASSERT_TRUE(bind(pod));
    const PodInfo bound = *kube_.get_pod(pod.name);
    cache_.post([bound](ClusterState& state) { state.set_pod(bound); });
    ASSERT_TRUE(bind(pod));
    EXPECT_EQ(kube_.bindings().size(), 1U);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: the same before the watch has shown the pod: the write is tried again and refused because
// the pod is bound, and the Binding that is read is our own.
TEST_F(Bind, RetryBeforeTheWatch) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    ASSERT_TRUE(bind(pod));
    const auto first = kube_.get_pod(pod.name)->allocation->value();
    ASSERT_TRUE(bind(pod));
    EXPECT_EQ(kube_.bindings().size(), 2U);
    EXPECT_EQ(kube_.get_pod(pod.name)->allocation->value(), first);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: a refusal frees the GPUs. Method: each code that the API server may refuse with.
TEST_F(Bind, RefusalReleases) {
    for (const Code code : {Code::invalid_argument, Code::permission_denied, Code::not_found}) {
        const PodInfo pod = add_pod("p", build::aliyun(8));
        kube_.refuse_next_bind({code, "no"});
        const auto refused = bind(pod);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error(), (Error{code, "no"}));
        EXPECT_EQ(allocated(), (Allocated{0, 0}));
    }
    EXPECT_TRUE(bind(add_pod("next", build::aliyun(16))));
}

// Goal: a conflict is reconciled by reading the pod. Method: the pod was bound elsewhere, is
// another pod of the same name, or is unbound. In each case nothing stays reserved.
TEST_F(Bind, ConflictReleases) {
    PodInfo elsewhere = add_pod("elsewhere", build::aliyun(8));
    elsewhere.node = NodeName("n2");
    kube_.put_pod(elsewhere);
    EXPECT_EQ(bind(elsewhere).error().code, Code::conflict);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));

    const PodInfo old = add_pod("renewed", build::aliyun(8));
    PodInfo renewed = old;
    renewed.uid = PodUid("uid-new");
    kube_.put_pod(renewed);
    EXPECT_EQ(bind(old).error().code, Code::conflict);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    EXPECT_TRUE(kube_.get_pod(old.name)->node.empty())
        << "the other pod of that name was left alone";

    kube_.refuse_next_bind({Code::conflict, "try again"});
    EXPECT_EQ(bind(add_pod("unbound", build::aliyun(8))).error().code, Code::conflict);
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: after a conflict, if the pod cannot be read, the GPUs stay reserved: the conflict may be
// with an earlier write of ours.
TEST_F(Bind, ConflictThatCannotBeRead) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_after_write();
    kube_.on_bind([this] { kube_.refuse_next_get({Code::unavailable, "down"}); });
    EXPECT_FALSE(bind(pod));
    EXPECT_EQ(bind(pod).error().code, Code::conflict);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U);
}

// Goal: the answer was lost after the write: reading the pod shows it bound, so the bind succeeds.
TEST_F(Bind, LostAnswerBound) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_after_write();
    EXPECT_TRUE(bind(pod));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U) << "until the watch shows the pod";
}

// Goal: the answer was lost and the pod is unbound: the write may still happen, so the GPUs stay
// reserved. A retry writes the same allocation again.
TEST_F(Bind, LostAnswerUnbound) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_before_write();
    const auto lost = bind(pod);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::unavailable);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U);
    ASSERT_TRUE(bind(pod));
    const auto writes = kube_.bindings();
    EXPECT_EQ(writes[0].annotations.at("tessera.dev/allocation"),
              writes[1].annotations.at("tessera.dev/allocation"));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
}

// Goal: the answer was lost and the pod is gone, or another pod has its name: nothing stays
// reserved.
TEST_F(Bind, LostAnswerPodGone) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    kube_.delete_pod(pod.name);
    kube_.lose_answer_before_write();
    EXPECT_FALSE(bind(pod));
    EXPECT_EQ(allocated(), (Allocated{0, 0}));

    const PodInfo old = add_pod("q", build::aliyun(8));
    PodInfo renewed = old;
    renewed.uid = PodUid("uid-new");
    kube_.put_pod(renewed);
    kube_.lose_answer_before_write();
    EXPECT_FALSE(bind(old));
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: the API server is away for the write and the read: the GPUs stay reserved until the result
// is known.
TEST_F(Bind, ApiServerAway) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    kube_.set_down(true);
    EXPECT_EQ(bind(pod).error().code, Code::unavailable);
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    pass(300);
    scheduler_.reconcile_uncertain();
    pass(300);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(allocated(), (Allocated{8, 0})) << "nothing is known yet";
    kube_.set_down(false);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: reconciling waits for the watch first, then for the API server's own timeout, and then
// frees what was never bound.
TEST_F(Bind, ReconcileFreesWhatWasNeverBound) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_before_write();
    EXPECT_FALSE(bind(pod));
    const int reads = kube_.pod_reads();
    scheduler_.reconcile_uncertain();
    pass(9);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(kube_.pod_reads(), reads) << "too early to read";
    pass(2);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(kube_.pod_reads(), reads + 1);
    EXPECT_EQ(allocated(), (Allocated{8, 0})) << "the write may still be under way";
    pass(60);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
    EXPECT_EQ(unconfirmed(), 0U);
}

// Goal: reconciling frees what ended meanwhile; what is bound stays reserved until the watch shows
// it.
TEST_F(Bind, ReconcileFindsBoundAndGonePods) {
    const PodInfo bound = add_pod("bound", build::aliyun(8));
    const PodInfo gone = add_pod("gone", build::aliyun(4));
    const PodInfo renewed = add_pod("renewed", build::aliyun(2));
    for (const PodInfo& pod : {bound, gone, renewed})
        ASSERT_TRUE(bind(pod));
    scheduler_.reconcile_uncertain();
    kube_.delete_pod(gone.name);
    PodInfo namesake = renewed;
    namesake.uid = PodUid("uid-new");
    kube_.put_pod(namesake);
    pass(11);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U);
}

// Goal: the uncertain time starts again with the last attempt. A refusal of a later attempt does
// not prove that an earlier one has not landed.
TEST_F(Bind, DoubtBeginsAnewWithEachAttempt) {
    const PodInfo pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_before_write();
    ASSERT_FALSE(bind(pod));
    scheduler_.reconcile_uncertain();
    pass(55);
    kube_.lose_answer_before_write();
    ASSERT_FALSE(bind(pod));
    scheduler_.reconcile_uncertain();
    pass(10);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(allocated(), (Allocated{8, 0})) << "65 s after the first, 10 s after the second";
    kube_.refuse_next_bind({Code::permission_denied, "no"});
    ASSERT_FALSE(bind(pod));
    EXPECT_EQ(allocated(), (Allocated{8, 0}));
    scheduler_.reconcile_uncertain();
    pass(61);
    scheduler_.reconcile_uncertain();
    EXPECT_EQ(allocated(), (Allocated{0, 0}));
}

// Goal: concurrent binds never share what only one can have. Method: sixteen threads bind pods of 5
// GiB that fit six times; the API server answers late, so that reservations overlap.
TEST_F(Bind, ConcurrentBindsNeverOverCommit) {
    std::vector<PodInfo> pods;
    for (int i = 0; i < 16; ++i)
        pods.push_back(add_pod("p" + std::to_string(i), build::aliyun(5)));
    kube_.on_bind([] { std::this_thread::yield(); });
    std::atomic<int> bound = 0;
    {
        std::vector<std::jthread> threads;
        for (const PodInfo& pod : pods)
            threads.emplace_back([&, pod] { bound += bind(pod) ? 1 : 0; });
    }
    EXPECT_EQ(bound, 6);
    EXPECT_EQ(allocated(), (Allocated{15, 15}));
    std::map<int, Bytes> granted;
    const auto all = kube_.list_pods({});
    for (const PodInfo& pod : *all) {
        if (!pod.allocation) continue;
        const GpuShare& share = pod.allocation->value().containers[0].gpus[0];
        granted[share.index] += share.memory;
    }
    EXPECT_EQ(granted[0], gibibytes(15));
    EXPECT_EQ(granted[1], gibibytes(15));
}

// Goal: if two threads bind the same pod at once, it is written once.
TEST_F(Bind, SamePodTwiceAtOnce) {
    const PodInfo pod = add_pod("p", build::aliyun(5));
    std::atomic<bool> inside = false;
    kube_.on_bind([&] {
        if (inside.exchange(true)) return;
        const auto second = bind(pod);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, Code::conflict);
    });
    EXPECT_TRUE(bind(pod));
    EXPECT_EQ(kube_.bindings().size(), 1U);
    EXPECT_EQ(allocated(), (Allocated{5, 0}));
}

class Filter : public Bind {
  protected:
    Filter() {
        add_node(build::node("full", 1, gibibytes(16)));
        EXPECT_TRUE(bind(add_pod("holder", build::aliyun(14)), "full"));
        add_node(build::node("small", 1, gibibytes(4)));
        add_node(build::node("cpu", 0, {}));
        NodeInventory broken = build::node("broken", 0, {});
        broken.fault = "tessera.dev/gpus: version: missing";
        add_node(broken);
        sync_cache();
    }
    static ExtenderArgs args(const PodInfo& pod) {
        ExtenderArgs out;
        out.pod = pod;
        out.names = {"n1", "full", "small", "cpu", "broken", "nowhere"};
        return out;
    }
    using Reasons = std::map<std::string, std::string>;
    static Reasons reasons(const ExtenderArgs& asked, const std::vector<Refusal>& refusals) {
        Reasons out;
        for (const Refusal& refusal : refusals)
            out.emplace(asked.names[refusal.node], refusal.reason);
        return out;
    }
};

// Goal: every node is in exactly one list, with the reason. If no eviction on the node can help, it
// is unresolvable, so that no pod is preempted for it without use.
TEST_F(Filter, EveryNodeIsInOneList) {
    const ExtenderArgs asked = args(build::pod("p", build::aliyun(8)));
    const FilterAnswer answer = scheduler_.filter(asked);
    EXPECT_EQ(answer.fitting, std::vector<std::size_t>{0});
    const Reasons failed = reasons(asked, answer.failed);
    ASSERT_EQ(failed.size(), 3U);
    EXPECT_TRUE(failed.at("full").starts_with("Insufficient GPU Memory in one device"));
    EXPECT_EQ(failed.at("broken"), "tessera.dev/gpus: version: missing");
    EXPECT_EQ(failed.at("nowhere"), "node \"nowhere\" not found");
    const Reasons never = reasons(asked, answer.unresolvable);
    ASSERT_EQ(never.size(), 2U);
    EXPECT_TRUE(never.at("small").starts_with("Insufficient GPU Memory"));
    EXPECT_EQ(never.at("cpu"), "The node cpu is not for GPU share, need skip");
}

// Goal: for a pod without GPUs kube-scheduler's own victims come back, but never a node without
// any.
TEST_F(Filter, AnswersPreemptionWithVictims) {
    const NodeVictims named{NodeName("n1"), {PodUid("x")}, 1};
    EXPECT_EQ(scheduler_.preempt({build::pod("p", {}), {named, {NodeName("cpu"), {}, 0}}}),
              std::vector<NodeVictims>{named});
}

// Goal: no pod is evicted for one pod of a gang, whatever victims kube-scheduler names: the pod
// would still wait for the others.
TEST_F(Filter, NobodyEndsForOneOfAGang) {
    PodInfo pod = build::pod("p", build::aliyun(8));
    const NodeVictims named{NodeName("n1"), {PodUid("x")}, 0};
    EXPECT_EQ(scheduler_.preempt({pod, {named}}), std::vector<NodeVictims>{named});
    pod.gang = GangMembership{"g", 8};
    EXPECT_EQ(scheduler_.preempt({pod, {named}}), std::vector<NodeVictims>());
}

// Goal: the same for a request that is more than one share of memory, which takes another path.
TEST_F(Filter, LargerRequestsToo) {
    for (const auto& containers : {build::native(gibibytes(3), 2), build::whole()}) {
        const ExtenderArgs asked = args(build::pod("p", containers));
        const FilterAnswer answer = scheduler_.filter(asked);
        EXPECT_EQ(answer.fitting.front(), 0U);
        EXPECT_EQ(answer.fitting.size() + answer.failed.size() + answer.unresolvable.size(), 6U);
        EXPECT_TRUE(reasons(asked, answer.failed).contains("broken"));
        EXPECT_TRUE(reasons(asked, answer.unresolvable).contains("cpu"));
    }
}

// Goal: an invalid request fits nowhere and says why; an empty one fits everywhere.
TEST_F(Filter, WrongAndEmptyRequests) {
    const ExtenderArgs asked =
        args(build::pod("p", {build::container("a", {{"aliyun.com/gpu-mem", "-1"}})}));
    const auto wrong = scheduler_.filter(asked);
    EXPECT_TRUE(wrong.fitting.empty());
    EXPECT_EQ(wrong.unresolvable.size(), 6U);
    EXPECT_NE(reasons(asked, wrong.unresolvable).at("n1").find("container a"), std::string::npos);
    const auto nothing = scheduler_.filter(args(build::pod("p", {})));
    EXPECT_EQ(nothing.fitting.size(), 6U);
    EXPECT_TRUE(nothing.failed.empty() && nothing.unresolvable.empty());
}

// Goal: kube-scheduler may learn of a pod's end before we do, and asks at once. What our watch
// shows within a moment counts (upstream D-26: such a pod waited five minutes). Method: the pod on
// the GPU ends while the filter waits.
TEST_F(Filter, RefusalWaitsForTheWatch) {
    clock_.on_sleep([this] {
        cache_.post([](ClusterState& state) { state.remove_pod(PodUid("uid-holder")); });
        sync_cache();
    });
    ExtenderArgs asked = args(build::pod("p", build::aliyun(8)));
    asked.names = {"full"};
    EXPECT_EQ(scheduler_.filter(asked).fitting, std::vector<std::size_t>{0});
    EXPECT_EQ(clock_.sleeps(), 1);
}

// Goal: waiting pods cost the others little: a burst of waits, then few. There is no wait if no end
// of a pod can change the answer, or if some node fits.
TEST_F(Filter, FewRefusalsWait) {
    ExtenderArgs never = args(build::pod("p", build::aliyun(8)));
    never.names = {"small", "cpu"};
    EXPECT_TRUE(scheduler_.filter(never).fitting.empty());
    EXPECT_EQ(scheduler_.filter(args(never.pod)).fitting.size(), 1U);
    EXPECT_EQ(clock_.sleeps(), 0);
    ExtenderArgs asked = never;
    asked.names = {"full"};
    for (int i = 0; i < 200; ++i)
        EXPECT_TRUE(scheduler_.filter(asked).fitting.empty());
    // The clock moves while it sleeps, so some waits are paid for meanwhile.
    const int burst = clock_.sleeps();
    EXPECT_GE(burst, StaleSnapshotRetry::kBurst);
    EXPECT_LE(burst, StaleSnapshotRetry::kBurst * 2);
    clock_.advance(StaleSnapshotRetry::kEvery);
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(scheduler_.filter(asked).fitting.empty());
    EXPECT_EQ(clock_.sleeps(), burst + 1);
}

// Goal: a pod whose Binding is uncertain is offered only its own node, though its reservation fills
// that node. When it is bound there, it has the same GPUs.
TEST_F(Filter, PodInDoubtHasItsNode) {
    const PodInfo pod = add_pod("p", build::aliyun(16));
    kube_.lose_answer_before_write();
    ASSERT_FALSE(bind(pod));
    ASSERT_EQ(allocated(), (Allocated{16, 0}));
    EXPECT_TRUE(bind(add_pod("other", build::aliyun(16))));
    ExtenderArgs asked = args(pod);
    const FilterAnswer answer = scheduler_.filter(asked);
    EXPECT_EQ(answer.fitting, std::vector<std::size_t>{0});
    EXPECT_EQ(reasons(asked, answer.failed).at("full"),
              "the pod's binding to node n1 is not confirmed yet");
    EXPECT_EQ(scheduler_.prioritize(asked), (std::vector<int>{10, 0, 0, 0, 0, 0}));
    EXPECT_TRUE(bind(pod));
    EXPECT_EQ(allocated(), (Allocated{16, 16}));
}

// Goal: the best node has 10, the others less, one that does not fit 0. Among equal GPUs, what is
// left on the whole node decides.
TEST_F(Filter, Priorities) {
    const auto scores = scheduler_.prioritize(args(build::pod("p", build::aliyun(2))));
    ASSERT_EQ(scores.size(), 6U);
    EXPECT_EQ(scores[1], 10) << "full would have nothing left";
    EXPECT_LT(scores[0], scores[2]) << "n1 has more left than small";
    EXPECT_LT(scores[2], 10);
    EXPECT_EQ(scores[3], 0);
    EXPECT_EQ(scores[4], 0);
    EXPECT_EQ(scores[5], 0);
    EXPECT_EQ(scheduler_.prioritize(args(build::pod("p", {}))), std::vector<int>(6, 0));
    EXPECT_EQ(scheduler_.prioritize(args(build::pod("p", build::aliyun(99)))),
              std::vector<int>(6, 0));

    add_node(build::node("twin", 2, gibibytes(16)));
    EXPECT_TRUE(bind(add_pod("used", build::aliyun(16)), "twin"));
    sync_cache();
    ExtenderArgs twins = args(build::pod("p", build::aliyun(2)));
    twins.names = {"n1", "twin"};
    const auto told_apart = scheduler_.prioritize(twins);
    EXPECT_EQ(told_apart[1], 10);
    EXPECT_LT(told_apart[0], 10);
}

}  // namespace
}  // namespace tessera

#include "app/scheduler/scheduler.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_kube_api.hpp"
#include "wire/allocation_json.hpp"

namespace tessera {
namespace {

class Bind : public ::testing::Test {
  protected:
    Bind() { add_node(build::node("n1", 2, gibibytes(16))); }

    void add_node(const NodeInventory& node) {
        kube_.put_node(node);
        keeper_.post([node](ClusterState& state) { state.set_node(node); });
        settle_keeper();
    }
    PodFacts add_pod(const std::string& name, std::vector<ContainerSpec> containers) {
        PodFacts pod = build::pod(name, std::move(containers));
        kube_.put_pod(pod);
        keeper_.post([pod](ClusterState& state) { state.set_pod(pod); });
        return pod;
    }
    Result<> bind(const PodFacts& pod, const std::string& node = "n1") {
        return scheduler_.bind({pod.name, pod.uid, NodeName(node)});
    }
    // The view is published after the batch that holds the first question.
    void settle_keeper() {
        for (int i = 0; i < 2; ++i)
            keeper_.ask([](ClusterState&) { return 0; });
    }
    std::vector<std::int64_t> held(const std::string& node = "n1") {
        settle_keeper();
        const auto view = keeper_.view();
        std::vector<std::int64_t> out;
        for (const Card& card : view->find(node)->cards)
            out.push_back(card.held.count / kGiB);
        return out;
    }
    std::size_t unconfirmed() {
        return keeper_.ask([](ClusterState& state) { return state.unconfirmed().size(); });
    }
    void pass(std::int64_t seconds) { clock_.advance(std::chrono::seconds(seconds)); }

    using Held = std::vector<std::int64_t>;
    FakeKubeApi kube_;
    Keeper keeper_;
    FakeClock clock_;
    Scheduler scheduler_{kube_, keeper_, clock_, {}};
};

// Goal: a pod that no node takes is known by what it waits for, until a node takes it.
TEST_F(Bind, KnowsWhatPodsWaitFor) {
    const PodFacts pod = add_pod("large", build::aliyun(17));
    const std::vector<std::string> names = {"n1", "n2"};
    ExtenderArgs args;
    args.pod = pod;
    args.names = {names[0]};
    EXPECT_TRUE(scheduler_.filter(args).fitting.empty());
    const auto too_large = static_cast<std::size_t>(Obstacle::too_large);
    EXPECT_EQ(scheduler_.waiting({pod.uid}).by_obstacle.at(too_large).pods, 1);
    add_node(build::node("n2", 1, gibibytes(24)));
    args.names = {names[0], names[1]};
    EXPECT_EQ(scheduler_.filter(args).fitting.size(), 1U);
    EXPECT_EQ(scheduler_.waiting({pod.uid}).by_obstacle.at(too_large).pods, 0);
    EXPECT_EQ(scheduler_.waiting({pod.uid}).not_refused, 1);
}

// Goal: one write binds the pod and carries its allocation; nothing else is written.
TEST_F(Bind, OneWriteWithTheAllocation) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
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
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(kube_.node_patches(), 0);
    EXPECT_EQ(kube_.get_pod(pod.name)->allocation->value(), *allocation);
}

// Goal: a pod that asks for nothing is bound all the same, without annotations: kube-scheduler has
// handed it to us.
TEST_F(Bind, PodWithoutRequest) {
    const PodFacts pod = add_pod("p", {});
    ASSERT_TRUE(bind(pod));
    ASSERT_EQ(kube_.bindings().size(), 1U);
    EXPECT_TRUE(kube_.bindings()[0].annotations.empty());
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: the watch may be behind kube-scheduler: then the pod is read, and must be the one meant.
TEST_F(Bind, PodNotYetWatched) {
    const PodFacts pod = build::pod("p", build::aliyun(8));
    kube_.put_pod(pod);
    ASSERT_TRUE(bind(pod));
    EXPECT_EQ(held(), (Held{8, 0}));

    const PodFacts gone = build::pod("gone", build::aliyun(1));
    EXPECT_EQ(bind(gone).error().code, Code::not_found);
    PodFacts namesake = gone;
    namesake.uid = PodUid("another");
    kube_.put_pod(namesake);
    const auto wrong = bind(gone);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, Code::not_found);
    EXPECT_NE(wrong.error().text.find("uid-gone"), std::string::npos);
    EXPECT_EQ(kube_.bindings().size(), 1U) << "nothing was written for the wrong pod";
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: what cannot be is refused before anything is written, with the reason.
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
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: who may not write does not, and holds nothing for it, whether the Lease was lost before the
// bind or in its midst; the time that is asked for is what a Binding takes.
TEST_F(Bind, FencedOff) {
    int allowed = 0;
    Scheduler fenced(kube_, keeper_, clock_, {.begin_write = [&](std::chrono::nanoseconds within) {
                         EXPECT_EQ(within, KubeApi::kBindTakes);
                         return allowed-- > 0;
                     }});
    const PodFacts pod = add_pod("p", build::aliyun(8));
    for (const int times : {0, 1}) {
        allowed = times;
        const auto refused = fenced.bind({pod.name, pod.uid, NodeName("n1")});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::unavailable);
        EXPECT_TRUE(kube_.bindings().empty());
        EXPECT_EQ(held(), (Held{0, 0}));
    }
    allowed = 2;
    EXPECT_TRUE(fenced.bind({pod.name, pod.uid, NodeName("n1")}));
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: kube-scheduler may ask again after a success: it is told so, and nothing is written or
// counted twice (D-14).
TEST_F(Bind, RetryIsIdempotent) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    ASSERT_TRUE(bind(pod));
    const PodFacts bound = *kube_.get_pod(pod.name);
    keeper_.post([bound](ClusterState& state) { state.set_pod(bound); });
    ASSERT_TRUE(bind(pod));
    EXPECT_EQ(kube_.bindings().size(), 1U);
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: the same before the watch has shown the pod: the write is tried again, refused as bound
// already, and the pod that it finds is our own.
TEST_F(Bind, RetryBeforeTheWatch) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    ASSERT_TRUE(bind(pod));
    const auto first = kube_.get_pod(pod.name)->allocation->value();
    ASSERT_TRUE(bind(pod));
    EXPECT_EQ(kube_.bindings().size(), 2U);
    EXPECT_EQ(kube_.get_pod(pod.name)->allocation->value(), first);
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: a refusal gives the cards back. Method: each code that the API server may refuse with.
TEST_F(Bind, RefusalReleases) {
    for (const Code code : {Code::invalid_argument, Code::permission_denied, Code::not_found}) {
        const PodFacts pod = add_pod("p", build::aliyun(8));
        kube_.refuse_next_bind({code, "no"});
        const auto refused = bind(pod);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error(), (Error{code, "no"}));
        EXPECT_EQ(held(), (Held{0, 0}));
    }
    EXPECT_TRUE(bind(add_pod("next", build::aliyun(16))));
}

// Goal: a conflict is settled by reading. Method: the pod was bound elsewhere, is another pod of
// the name, or is unbound; in each case nothing stays reserved.
TEST_F(Bind, ConflictReleases) {
    PodFacts elsewhere = add_pod("elsewhere", build::aliyun(8));
    elsewhere.node = NodeName("n2");
    kube_.put_pod(elsewhere);
    EXPECT_EQ(bind(elsewhere).error().code, Code::conflict);
    EXPECT_EQ(held(), (Held{0, 0}));

    const PodFacts old = add_pod("renewed", build::aliyun(8));
    PodFacts renewed = old;
    renewed.uid = PodUid("uid-new");
    kube_.put_pod(renewed);
    EXPECT_EQ(bind(old).error().code, Code::conflict);
    EXPECT_EQ(held(), (Held{0, 0}));
    EXPECT_TRUE(kube_.get_pod(old.name)->node.empty()) << "the namesake was left alone";

    kube_.refuse_next_bind({Code::conflict, "try again"});
    EXPECT_EQ(bind(add_pod("unbound", build::aliyun(8))).error().code, Code::conflict);
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: after a conflict that cannot be looked into, the cards stay taken: an earlier write of ours
// may be what it conflicts with.
TEST_F(Bind, ConflictThatCannotBeRead) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_after_write();
    kube_.on_bind([this] { kube_.refuse_next_get({Code::unavailable, "down"}); });
    EXPECT_FALSE(bind(pod));
    EXPECT_EQ(bind(pod).error().code, Code::conflict);
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U);
}

// Goal: the answer was lost after the write: reading the pod shows it bound, and that is a success.
TEST_F(Bind, LostAnswerBound) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_after_write();
    EXPECT_TRUE(bind(pod));
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U) << "until the watch shows it";
}

// Goal: the answer was lost and the pod is unbound: the write may still happen, so the cards stay
// taken; a retry writes the same allocation again.
TEST_F(Bind, LostAnswerUnbound) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_before_write();
    const auto lost = bind(pod);
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::unavailable);
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U);
    ASSERT_TRUE(bind(pod));
    const auto writes = kube_.bindings();
    EXPECT_EQ(writes[0].annotations.at("tessera.dev/allocation"),
              writes[1].annotations.at("tessera.dev/allocation"));
    EXPECT_EQ(held(), (Held{8, 0}));
}

// Goal: the answer was lost and the pod is gone, or another has its name: nothing stays taken.
TEST_F(Bind, LostAnswerPodGone) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    kube_.delete_pod(pod.name);
    kube_.lose_answer_before_write();
    EXPECT_FALSE(bind(pod));
    EXPECT_EQ(held(), (Held{0, 0}));

    const PodFacts old = add_pod("q", build::aliyun(8));
    PodFacts renewed = old;
    renewed.uid = PodUid("uid-new");
    kube_.put_pod(renewed);
    kube_.lose_answer_before_write();
    EXPECT_FALSE(bind(old));
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: the API server is away for the write and the read: the cards stay taken until it is known.
TEST_F(Bind, ApiServerAway) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    kube_.set_down(true);
    EXPECT_EQ(bind(pod).error().code, Code::unavailable);
    EXPECT_EQ(held(), (Held{8, 0}));
    pass(300);
    scheduler_.settle_unconfirmed();
    pass(300);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(held(), (Held{8, 0})) << "nothing is known yet";
    kube_.set_down(false);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: settling waits for the watch first, then for the API server's own timeout, then frees what
// was never bound.
TEST_F(Bind, SettleFreesWhatWasNeverBound) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_before_write();
    EXPECT_FALSE(bind(pod));
    const int reads = kube_.pod_reads();
    scheduler_.settle_unconfirmed();
    pass(9);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(kube_.pod_reads(), reads) << "too early to ask";
    pass(2);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(kube_.pod_reads(), reads + 1);
    EXPECT_EQ(held(), (Held{8, 0})) << "the write may still be under way";
    pass(60);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(held(), (Held{0, 0}));
    EXPECT_EQ(unconfirmed(), 0U);
}

// Goal: settling frees what ended meanwhile; what is bound stays held until the watch shows it.
TEST_F(Bind, SettleFindsBoundAndGonePods) {
    const PodFacts bound = add_pod("bound", build::aliyun(8));
    const PodFacts gone = add_pod("gone", build::aliyun(4));
    const PodFacts renewed = add_pod("renewed", build::aliyun(2));
    for (const PodFacts& pod : {bound, gone, renewed})
        ASSERT_TRUE(bind(pod));
    scheduler_.settle_unconfirmed();
    kube_.delete_pod(gone.name);
    PodFacts namesake = renewed;
    namesake.uid = PodUid("uid-new");
    kube_.put_pod(namesake);
    pass(11);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(held(), (Held{8, 0}));
    EXPECT_EQ(unconfirmed(), 1U);
}

// Goal: the time of doubt is that of the last attempt, and a refusal of a later attempt does not
// say that an earlier one has not landed.
TEST_F(Bind, DoubtBeginsAnewWithEachAttempt) {
    const PodFacts pod = add_pod("p", build::aliyun(8));
    kube_.lose_answer_before_write();
    ASSERT_FALSE(bind(pod));
    scheduler_.settle_unconfirmed();
    pass(55);
    kube_.lose_answer_before_write();
    ASSERT_FALSE(bind(pod));
    scheduler_.settle_unconfirmed();
    pass(10);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(held(), (Held{8, 0})) << "65 s after the first, 10 s after the second";
    kube_.refuse_next_bind({Code::permission_denied, "no"});
    ASSERT_FALSE(bind(pod));
    EXPECT_EQ(held(), (Held{8, 0}));
    scheduler_.settle_unconfirmed();
    pass(61);
    scheduler_.settle_unconfirmed();
    EXPECT_EQ(held(), (Held{0, 0}));
}

// Goal: concurrent binds never share what only one can have. Method: sixteen threads bind pods of
// 5 GiB that fit six times; the API server's answer comes late, so that reservations overlap.
TEST_F(Bind, ConcurrentBindsNeverOverCommit) {
    std::vector<PodFacts> pods;
    for (int i = 0; i < 16; ++i)
        pods.push_back(add_pod("p" + std::to_string(i), build::aliyun(5)));
    kube_.on_bind([] { std::this_thread::yield(); });
    std::atomic<int> bound = 0;
    {
        std::vector<std::jthread> threads;
        for (const PodFacts& pod : pods)
            threads.emplace_back([&, pod] { bound += bind(pod) ? 1 : 0; });
    }
    EXPECT_EQ(bound, 6);
    EXPECT_EQ(held(), (Held{15, 15}));
    std::map<int, Bytes> granted;
    const auto all = kube_.list_pods({});
    for (const PodFacts& pod : *all) {
        if (!pod.allocation) continue;
        const GpuShare& share = pod.allocation->value().containers[0].gpus[0];
        granted[share.index] += share.memory;
    }
    EXPECT_EQ(granted[0], gibibytes(15));
    EXPECT_EQ(granted[1], gibibytes(15));
}

// Goal: the same pod bound by two at once is written once.
TEST_F(Bind, SamePodTwiceAtOnce) {
    const PodFacts pod = add_pod("p", build::aliyun(5));
    std::atomic<bool> inside = false;
    kube_.on_bind([&] {
        if (inside.exchange(true)) return;
        const auto second = bind(pod);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, Code::conflict);
    });
    EXPECT_TRUE(bind(pod));
    EXPECT_EQ(kube_.bindings().size(), 1U);
    EXPECT_EQ(held(), (Held{5, 0}));
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
        settle_keeper();
    }
    static ExtenderArgs args(const PodFacts& pod) {
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

// Goal: every node is in exactly one list, with the reason; what nothing on the node can change is
// unresolvable, so that no pod is preempted for it in vain.
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

// Goal: of a pod without GPUs kube-scheduler's own victims come back, but never a node without any.
TEST_F(Filter, AnswersPreemptionWithVictims) {
    const NodeVictims named{NodeName("n1"), {PodUid("x")}, 1};
    EXPECT_EQ(scheduler_.preempt({build::pod("p", {}), {named, {NodeName("cpu"), {}, 0}}}),
              std::vector<NodeVictims>{named});
}

// Goal: nobody ends for one pod of a gang, whomever kube-scheduler names: it would still wait for
// the others.
TEST_F(Filter, NobodyEndsForOneOfAGang) {
    PodFacts pod = build::pod("p", build::aliyun(8));
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

// Goal: a request that makes no sense fits nowhere and says why; none at all fits everywhere.
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

// Goal: kube-scheduler may hear of a pod's end before we do and asks at once: what our watch shows
// within a moment counts (upstream D-26: such a pod waited five minutes). Method: the end of the
// holder comes while the filter waits.
TEST_F(Filter, RefusalWaitsForTheWatch) {
    clock_.on_sleep([this] {
        keeper_.post([](ClusterState& state) { state.remove_pod(PodUid("uid-holder")); });
        settle_keeper();
    });
    ExtenderArgs asked = args(build::pod("p", build::aliyun(8)));
    asked.names = {"full"};
    EXPECT_EQ(scheduler_.filter(asked).fitting, std::vector<std::size_t>{0});
    EXPECT_EQ(clock_.sleeps(), 1);
}

// Goal: waiting pods cost the others little: a burst of waits, then few; and nothing waits for what
// no end of a pod can change, or when some node fits.
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
    // The clock moves while it sleeps: some are paid for meanwhile.
    const int burst = clock_.sleeps();
    EXPECT_GE(burst, SecondLook::kBurst);
    EXPECT_LE(burst, SecondLook::kBurst * 2);
    clock_.advance(SecondLook::kEvery);
    for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(scheduler_.filter(asked).fitting.empty());
    EXPECT_EQ(clock_.sleeps(), burst + 1);
}

// Goal: a pod whose Binding is in doubt is offered its own node, though its reservation fills it,
// and no other; bound there, it has what it had.
TEST_F(Filter, PodInDoubtHasItsNode) {
    const PodFacts pod = add_pod("p", build::aliyun(16));
    kube_.lose_answer_before_write();
    ASSERT_FALSE(bind(pod));
    ASSERT_EQ(held(), (Held{16, 0}));
    EXPECT_TRUE(bind(add_pod("other", build::aliyun(16))));
    ExtenderArgs asked = args(pod);
    const FilterAnswer answer = scheduler_.filter(asked);
    EXPECT_EQ(answer.fitting, std::vector<std::size_t>{0});
    EXPECT_EQ(reasons(asked, answer.failed).at("full"),
              "the pod's binding to node n1 is not settled yet");
    EXPECT_EQ(scheduler_.prioritize(asked), (std::vector<int>{10, 0, 0, 0, 0, 0}));
    EXPECT_TRUE(bind(pod));
    EXPECT_EQ(held(), (Held{16, 16}));
}

// Goal: the best node has 10, the others less, one that does not fit 0; equal nodes are told apart
// by what is left on the whole node.
TEST_F(Filter, Priorities) {
    const auto scores = scheduler_.prioritize(args(build::pod("p", build::aliyun(2))));
    ASSERT_EQ(scores.size(), 6U);
    EXPECT_EQ(scores[1], 10) << "full: nothing would be left of it";
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
    settle_keeper();
    ExtenderArgs twins = args(build::pod("p", build::aliyun(2)));
    twins.names = {"n1", "twin"};
    const auto told_apart = scheduler_.prioritize(twins);
    EXPECT_EQ(told_apart[1], 10);
    EXPECT_LT(told_apart[0], 10);
}

}  // namespace
}  // namespace tessera

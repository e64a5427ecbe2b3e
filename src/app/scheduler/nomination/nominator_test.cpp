#include "app/scheduler/nomination/nominator_test.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace tessera {
namespace {

// Goal: pods are nominated in kube-scheduler's order, by best fit over all nodes, and each one
// takes its GPUs from those after it. The pods that kube-scheduler takes next are left to it.
TEST_F(NominatorTest, InTheOrderOfTheQueue) {
    node("a", 1);
    node("b", 1);
    EXPECT_EQ(writes_after(), Writes{}) << "only as many wait as kube-scheduler takes at once";
    PodInfo high = pod("high", "2026-01-03T00:00:00Z", 10);
    high.priority = 1;
    show(high);
    waits("old", "2026-01-01T12:00:00Z", 10);
    later("small", 6);
    later("young", 12);
    // "high" comes first, so the last of the pods before it is nominated in its place.
    EXPECT_EQ(writes_after(),
              (Writes{"nominate first-31 a", "nominate old a", "nominate small b"}));
    EXPECT_EQ(nominator_.count(), 3U);
    EXPECT_EQ(writes_after().size(), 3U) << "\"young\" fits nowhere beside the others";
    EXPECT_EQ(reserved_on(pods_.at(PodUid("uid-old"))), NodeName("a"));
}

// Goal: a pod is nominated only where its rules and the node's CPU, memory and pods allow it.
TEST_F(NominatorTest, WhereThePodMayRun) {
    const HostRequest host{4000, gibibytes(8)};
    node("tainted", 1, {.taints = {{"k", "v", "NoSchedule"}}}, host);
    node("cordoned", 1, {.closed = true}, host);
    node("labelled", 1, {.labels = {{"zone", "x"}}}, host);
    NodeRules rules;
    rules.selector = {{LabelTerm::Kind::in, "zone", {"x"}}};
    later("in-zone", 1, {.nodes = rules});
    rules.selector = {{LabelTerm::Kind::in, "zone", {"y"}}};
    later("nowhere", 1, {.nodes = rules});
    NodeRules tolerant;
    tolerant.tolerations = {{.key = "k", .exists = true}};
    PodInfo large = pod("large", "2026-01-03T00:00:00Z", 1, {.nodes = tolerant});
    large.host = {4000, gibibytes(1)};
    show(large);
    large = pod("too-large", "2026-01-03T00:00:01Z", 1, {.nodes = tolerant});
    large.host = {4001, gibibytes(1)};
    show(large);
    large = pod("beside", "2026-01-03T00:00:02Z", 1, {.nodes = tolerant});
    large.host = {1, gibibytes(1)};
    show(large);
    EXPECT_EQ(writes_after(), (Writes{"nominate in-zone labelled", "nominate large labelled",
                                      "nominate beside tainted"}));
}

TEST_F(NominatorTest, NoMorePodsThanTheNodeAccepts) {
    node("a", 1, {.most_pods = 1});
    node("b", 1, {.most_pods = 1});
    for (const char* name : {"p", "q", "r"})
        later(name, 1);
    EXPECT_EQ(writes_after(), (Writes{"nominate p a", "nominate q b"}));
}

// Goal: these pods are left alone.
TEST_F(NominatorTest, LeavesAlone) {
    node("a", 8);
    later("of-another-scheduler", 1, {.scheduler = "volcano"});
    later("with-a-volume", 1, {.has_others = true});
    PodInfo odd = pod("gated", "2026-01-02T00:00:00Z", 1);
    odd.gated = true;
    show(odd);
    odd = pod("of-a-gang", "2026-01-02T00:00:00Z", 1);
    odd.gang = GangMembership{"g", 2};
    show(odd);
    odd = pod("with-affinity", "2026-01-02T00:00:00Z", 1);
    odd.gpu_rules.affinity = "together";
    show(odd);
    odd = pod("nominated-by-others", "2026-01-02T00:00:00Z", 1);
    odd.nominated = NodeName("a");
    show(odd);
    odd = pod("rules-unknown", "2026-01-02T00:00:00Z", 1);
    odd.scheduling = nullptr;
    show(odd);
    EXPECT_EQ(writes_after(), Writes{});
}

TEST_F(NominatorTest, ForbiddenByTheApiServer) {
    node("a", 1);
    later("p", 1);
    later("q", 1);
    api_.fail_with(Error{Code::permission_denied, "no pods/status"});
    writes_after();
    api_.fail_with(std::nullopt);
    EXPECT_EQ(writes_after(1s), Writes{});
    EXPECT_EQ(writes_after(Nominator::kDenied), (Writes{"nominate p a", "nominate q a"}));
}

// Goal: a pod whose nomination a policy refuses is not nominated again and again.
TEST_F(NominatorTest, ARefusedWriteIsNotRepeatedAtOnce) {
    node("a", 1);
    const PodInfo pod = later("p", 10);
    api_.fail_with(Error{Code::invalid_argument, "a policy denies it"});
    writes_after();
    writes_after();
    EXPECT_EQ(reserved_on(pod), NodeName());
    api_.fail_with(std::nullopt);
    EXPECT_EQ(writes_after(1s), Writes{});
    EXPECT_EQ(writes_after(Nominator::kRest), Writes{"nominate p a"});
}

// Goal: no pod is nominated if kube-scheduler looks at few nodes for each pod. Until it has asked,
// it is expected to look at all.
TEST_F(NominatorTest, OnlyIfManyNodesAreLookedAt) {
    NominatorTools tools = this->tools();
    tools.from_nodes = 3;
    Nominator nominator(tools);
    for (const char* name : {"a", "b", "c"})
        node(name, 1);
    const auto round = [&](const char* pod) {
        later(pod, 1);
        nominator.run_round();
        return api_.writes().size();
    };
    EXPECT_EQ(round("p"), 1U);
    const auto looked_at = [&](const std::vector<std::string_view>& nodes) {
        ExtenderArgs args;
        args.pod = pod("other", "2026-01-01T00:00:00Z", 1);
        args.names = nodes;
        FilterAnswer answer;
        answer.fitting = {0};
        nominator.note(args, answer);
    };
    looked_at({"a"});
    EXPECT_EQ(round("q"), 2U) << "a nominated pod, about which nothing else is asked";
    looked_at({"a", "b"});
    EXPECT_EQ(round("r"), 2U);
    looked_at({"a", "b", "c"});
    EXPECT_EQ(round("s"), 4U);
}

// Goal: pods that fit nowhere are not tried all the time, and are nominated when there is space.
TEST_F(NominatorTest, FitsLater) {
    node("a", 1);
    later("p", 17);
    EXPECT_EQ(writes_after(), Writes{});
    tell([](ClusterState& state) { state.set_node(build::node("large", 1, gibibytes(32))); });
    EXPECT_EQ(writes_after(1s), Writes{});
    EXPECT_EQ(writes_after(Nominator::kRest), Writes{"nominate p large"});
}

// Goal: pods that fit nowhere do not keep those after them from being nominated.
TEST_F(NominatorTest, PodsThatFitNowhereAreNotBeforeOthers) {
    node("a", 1);
    NominatorTools tools = this->tools();
    tools.skip = 1;
    Nominator nominator(tools);
    for (std::size_t i = 0; i < kSkip; ++i)
        tell([i](ClusterState& state) {
            state.remove_pod(PodUid(fmt::format("uid-first-{:02}", i)));
        });
    for (const char* name : {"large-1", "large-2"}) {
        PodInfo large = pod(name, "2026-01-01T00:00:00Z", 17);
        large.priority = 1;
        show(large);
    }
    later("p", 1);
    later("q", 1);
    nominator.run_round();
    EXPECT_EQ(api_.writes(), (Writes{"nominate p a", "nominate q a"}));
    later("r", 1);
    clock_.advance(Nominator::kIdle);
    nominator.run_round();
    EXPECT_EQ(api_.writes().size(), 3U) << "large-1 is the first of the queue, large-2 rests";
}

// Goal: each scheduler may have as many nominations about which it has not asked yet.
TEST_F(NominatorTest, AWindowForEachScheduler) {
    node("a", 1);
    NominatorTools tools = this->tools();
    tools.skip = 0;
    tools.window = 1;
    tools.schedulers = {kScheduler, "other"};
    Nominator nominator(tools);
    later("p", 1, {.scheduler = "other"});
    later("q", 1, {.scheduler = "other"});
    nominator.run_round();
    nominator.run_round();
    EXPECT_EQ(api_.writes(), (Writes{"nominate first-00 a", "nominate p a"}));
}

// Goal: a nomination is not written if kube-scheduler has taken the pod while others were written.
TEST_F(NominatorTest, OvertakenByKubeScheduler) {
    node("a", 1);
    const PodInfo first = later("p", 1);
    const PodInfo second = later("q", 1);
    api_.on_nominate([&](const PodUid&, const NodeName&) { asks(second, {"a"}, {0}); });
    EXPECT_EQ(writes_after(), Writes{"nominate p a"});
    EXPECT_EQ(reserved_on(second), NodeName("a")) << "until it is bound";
    EXPECT_EQ(nominator_.count(), 2U);
    asks(second, {"a"}, {});
    writes_after(2s);
    EXPECT_EQ(reserved_on(second), NodeName()) << "kube-scheduler did not bind it";
}

// Goal: a pod that kube-scheduler already asks about without its node is not nominated any more.
TEST_F(NominatorTest, AskedBeforeItIsWritten) {
    node("a", 1);
    node("b", 1);
    later("p", 1);
    const PodInfo second = later("q", 1);
    api_.on_nominate([&](const PodUid&, const NodeName&) { asks(second, {"b"}, {}); });
    EXPECT_EQ(writes_after(), Writes{"nominate p a"});
}

// Goal: a pod that was refused comes after the pods that wait since earlier.
TEST_F(NominatorTest, ARefusedPodGoesToTheEnd) {
    node("a", 1);
    const PodInfo last = later("p", 16);
    tell([&](ClusterState& state) {
        state.note_refused(PodUid("uid-first-00"), "2026-01-03T00:00:00Z");
    });
    // "p" is now one of the first pods.
    EXPECT_EQ(writes_after(), Writes{"nominate first-00 a"});
}

// Goal: questions of kube-scheduler, rounds and writes run side by side. For ThreadSanitizer.
TEST(NominatorThreads, AskedWhileItWrites) {
    class Api final : public Nominations {
      public:
        Result<> nominate_ahead(const PodUid&, const PodName&, const NodeName&) override {
            ++count;
            return {};
        }
        Result<> withdraw(const PodUid&, const PodName&, const NodeName&) override { return {}; }
        std::atomic<int> count = 0;
    };
    constexpr int kPods = 300;
    FakeClock clock;
    ClusterCache cache;
    SchedulerMetrics metrics(clock);
    Api api;
    std::vector<PodInfo> pods;
    for (int i = 0; i < kPods; ++i) {
        PodInfo pod = build::pod(fmt::format("p{}", i), build::native(gibibytes(1)));
        pod.scheduling =
            std::make_shared<const SchedulingRules>(SchedulingRules{.scheduler = "s", .nodes = {}});
        pods.push_back(pod);
    }
    cache.call([&](ClusterState& state) {
        for (const char* name : {"a", "b", "c"})
            state.set_node(build::node(name, 8, gibibytes(16)));
        return std::ranges::all_of(pods, [&](const PodInfo& pod) { return state.set_pod(pod); });
    });
    Nominator nominator({.nominations = api,
                         .cache = cache,
                         .metrics = metrics,
                         .clock = clock,
                         .fence = {},
                         .schedulers = {"s"},
                         .skip = 0,
                         .writers = 4});
    {
        std::vector<std::jthread> askers;
        for (std::size_t first : {0U, 1U}) {
            askers.emplace_back([&, first] {
                for (std::size_t i = first; i < pods.size(); i += 2) {
                    ExtenderArgs args;
                    args.pod = pods[i];
                    args.names = {"a"};
                    FilterAnswer answer;
                    if (i % 3 == 0) answer.fitting = {0};
                    nominator.note(args, answer);
                }
            });
        }
        for (int i = 0; i < 20; ++i)
            nominator.run_round();
    }
    nominator.stop();
    EXPECT_GT(api.count, 0);
    EXPECT_LE(nominator.count(), static_cast<std::size_t>(kPods));
}

}  // namespace
}  // namespace tessera

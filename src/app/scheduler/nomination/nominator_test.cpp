#include "app/scheduler/nomination/nominator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_evictions.hpp"

namespace tessera {
namespace {

using namespace std::chrono_literals;
using Writes = std::vector<std::string>;

constexpr const char* kScheduler = "default-scheduler";
constexpr std::size_t kSkip = 32;

// GPUs of 16 GiB, and an API server that records the writes. The pods "first-NN" wait longer than
// all others: kube-scheduler is about to take them.
class NominatorTest : public ::testing::Test {
  protected:
    // The watch shows every nomination.
    NominatorTest() {
        api_.on_nominate([this](const PodUid& uid, const NodeName& node) {
            if (!is_watch_on_) return;
            pods_.at(uid).nominated = node;
            pods_.at(uid).is_nominated_ahead = !node.empty();
            tell([pod = pods_.at(uid)](ClusterState& state) { state.set_pod(pod); });
        });
        for (std::size_t i = 0; i < kSkip; ++i)
            waits(fmt::format("first-{:02}", i), "2026-01-01T00:00:00Z", 1);
    }
    void tell(const ClusterCache::Change& change) {
        cache_.call([&](ClusterState& state) {
            change(state);
            return true;
        });
    }
    void node(const std::string& name, int gpus, NodeTraits traits = {}, HostRequest host = {}) {
        NodeInventory node = build::node(name, gpus, gibibytes(16));
        traits.name = node.name;
        node.traits = SharedNodeTraits(std::move(traits));
        node.host = host;
        tell([node](ClusterState& state) { state.set_node(node); });
    }
    PodInfo pod(const std::string& name, const std::string& created, int gib,
                SchedulingRules rules = {}) {
        PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        pod.created = created;
        if (rules.scheduler.empty()) rules.scheduler = kScheduler;
        pod.scheduling = std::make_shared<const SchedulingRules>(std::move(rules));
        return pod;
    }
    void show(const PodInfo& pod) {
        pods_[pod.uid] = pod;
        tell([pod](ClusterState& state) { state.set_pod(pod); });
    }
    PodInfo waits(const std::string& name, const std::string& created, int gib,
                  SchedulingRules rules = {}) {
        const PodInfo waiting = pod(name, created, gib, std::move(rules));
        show(waiting);
        return waiting;
    }
    PodInfo later(const std::string& name, int gib, SchedulingRules rules = {}) {
        return waits(name, "2026-01-02T00:00:00Z", gib, std::move(rules));
    }
    // All writes so far, after a round that runs `time` later.
    const Writes& writes_after(std::chrono::nanoseconds time = Nominator::kIdle) {
        clock_.advance(time);
        nominator_.run_round();
        return api_.writes();
    }
    // kube-scheduler asks about these nodes, and the filter offers those in `fitting`.
    void asks(const PodInfo& pod, const std::vector<std::string_view>& nodes,
              std::vector<std::size_t> fitting) {
        ExtenderArgs args;
        args.pod = pod;
        args.names = nodes;
        FilterAnswer answer;
        answer.fitting = std::move(fitting);
        if (answer.fitting.empty()) answer.failed.push_back({0, "no room"});
        nominator_.note(args, answer);
    }
    NodeName reserved_on(const PodInfo& pod) {
        return cache_.call([&](ClusterState& state) {
            const PendingPod* pending = state.pending(pod.uid);
            return pending == nullptr ? NodeName() : pending->reserved_on();
        });
    }
    NominatorTools tools() {
        return {.nominations = api_,
                .cache = cache_,
                .metrics = metrics_,
                .clock = clock_,
                .fence = WriteFence([this](std::chrono::nanoseconds) { return leads_; }),
                .policies = nullptr,
                .schedulers = {kScheduler},
                .skip = kSkip,
                .writers = 0};
    }

    FakeClock clock_;
    ClusterCache cache_{[] {}};
    std::map<PodUid, PodInfo> pods_;
    FakeEvictions api_;
    SchedulerMetrics metrics_{clock_};
    bool leads_ = true;
    bool is_watch_on_ = true;
    Nominator nominator_{tools()};
};

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

// Goal: GPUs are not reserved for ever for a pod that kube-scheduler does not take. It may be
// nominated again, after the pods before it.
TEST_F(NominatorTest, NotAskedAbout) {
    node("a", 1);
    node("b", 1);
    const PodInfo pod = later("p", 10);
    EXPECT_EQ(writes_after(), Writes{"nominate p a"});
    EXPECT_EQ(writes_after(Nominator::kUnasked - 1s).size(), 1U);
    writes_after(1s);
    EXPECT_EQ(writes_after(1s), (Writes{"nominate p a", "clear p", "nominate p b"}))
        << "perhaps kube-scheduler has another reason not to use a";
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
    show(pods_.at(pod.uid));
    EXPECT_EQ(writes_after(1s), Writes{"clear p"});
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

// Goal: a pod for which others may have been evicted keeps its node.
TEST_F(NominatorTest, KeepsANominationForWhichPodsEnd) {
    node("a", 1);
    PodInfo ends = build::pod("ends", build::native(gibibytes(16)));
    ends = build::bound(
        ends, build::allocation(ends, "a", {{GpuUuid("GPU-a-0"), 0, gibibytes(16), {}, false}}));
    ends.terminating = true;
    show(ends);
    PodInfo waits = pod("p", "2026-01-02T00:00:00Z", 16);
    waits.nominated = NodeName("a");
    show(waits);
    writes_after();
    writes_after(Nominator::kForeign + 1s);
    EXPECT_EQ(reserved_on(waits), NodeName("a"));
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
        pod.scheduling = std::make_shared<const SchedulingRules>(
            SchedulingRules{.scheduler = kScheduler, .nodes = {}});
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
                         .schedulers = {kScheduler},
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

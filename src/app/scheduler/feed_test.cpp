#include "app/scheduler/feed.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_kube_api.hpp"

namespace tessera {
namespace {

class FeedTest : public ::testing::Test {
  protected:
    // Asks the keeper until it says yes; false after ten seconds.
    bool until(const std::function<bool(ClusterState&)>& done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (std::chrono::steady_clock::now() < deadline) {
            if (keeper_.ask(done)) return true;
            std::this_thread::yield();
        }
        return false;
    }
    bool until_held(const std::string& node, std::vector<Bytes> expected) {
        return until([&](ClusterState& state) {
            const auto view = state.view();
            const NodeView* found = view->find(node);
            if (found == nullptr || found->cards.size() != expected.size()) return false;
            for (std::size_t i = 0; i < expected.size(); ++i) {
                if (found->cards[i].held != expected[i]) return false;
            }
            return true;
        });
    }
    static PodFacts bound_pod(const std::string& name, const std::string& node, int gib) {
        const PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
        return build::bound(
            pod, build::allocation(
                     pod, node, {{GpuUuid("GPU-" + node + "-0"), 0, gibibytes(gib), {}, false}}));
    }

    FakeKubeApi kube_;
    Keeper keeper_;
    FakeClock clock_;
    SchedulerMetrics metrics_{clock_};
    Scheduler scheduler_{kube_, keeper_, clock_, {}};
};

// Goal: a restart rebuilds everything from the API server: cards, holds and waiting pods.
TEST_F(FeedTest, RebuildsFromTheApi) {
    kube_.put_node(build::node("n1", 2, gibibytes(16)));
    kube_.put_pod(bound_pod("running", "n1", 5));
    kube_.put_pod(build::pod("waiting", build::aliyun(3)));
    Feed feed(kube_, keeper_, scheduler_, metrics_, clock_);
    const FeedThreads threads(feed);
    EXPECT_TRUE(until_held("n1", {gibibytes(5), {}}));
    EXPECT_TRUE(until([](ClusterState& state) { return state.pending_count() == 1; }));
    EXPECT_TRUE(until([&](ClusterState&) { return feed.synced().load(); }));
}

// Goal: the lists that were read are counted, and that a watch was heard is noted.
TEST_F(FeedTest, IsSeenInTheMetrics) {
    clock_.advance(std::chrono::minutes(5));
    Feed feed(kube_, keeper_, scheduler_, metrics_, clock_);
    const FeedThreads threads(feed);
    EXPECT_TRUE(until([&](ClusterState&) { return feed.synced().load(); }));
    const auto view = keeper_.view();
    const WaitingCounts waiting;
    const std::string text = metrics_.expose({.view = *view, .waiting = waiting});
    for (const std::string resource : {"nodes", "pods"}) {
        EXPECT_NE(text.find("tessera_watch_age_seconds{resource=\"" + resource + "\"} 0\n"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("tessera_lists_total{resource=\"" + resource + "\"} 1\n"),
                  std::string::npos);
    }
}

// Goal: a list that was asked for is a new one, and is in the view before it is said to be there.
TEST_F(FeedTest, ListsAnew) {
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    Feed feed(kube_, keeper_, scheduler_, metrics_, clock_);
    std::atomic<int> done = 0;
    feed.relist_pods([&] { ++done; });
    const FeedThreads threads(feed);
    EXPECT_TRUE(until([&](ClusterState&) { return done == 1; }));
    ASSERT_TRUE(until([&](ClusterState&) { return feed.synced().load(); }));
    kube_.pause_watches(true);
    kube_.put_pod(bound_pod("unseen", "n1", 5));
    for (int i = 2; i < 5; ++i) {
        feed.relist_pods([&] {
            const Bytes held = keeper_.view()->find("n1")->cards[0].held;
            if (held == gibibytes(5)) ++done;
        });
        EXPECT_TRUE(until([&](ClusterState&) { return done == i; }));
    }
}

// Goal: a reservation in doubt of an earlier term ends with the list that begins a new one, because
// another leader may have given its cards away; one whose Binding is under way does not.
TEST_F(FeedTest, RelistEndsDoubts) {
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    Feed feed(kube_, keeper_, scheduler_, metrics_, clock_);
    const FeedThreads threads(feed);
    ASSERT_TRUE(until([&](ClusterState&) { return feed.synced().load(); }));
    keeper_.ask([&](ClusterState& state) {
        for (const auto& [name, gib] : {std::pair("doubt", 3), std::pair("under-way", 4)}) {
            const PodFacts pod = build::pod(name, build::native(gibibytes(gib)));
            const auto made = state.reserve(build::ask(pod), NodeName("n1"));
            EXPECT_TRUE(made);
            if (gib == 3) state.confirm(made->attempt);
        }
        return 0;
    });
    ASSERT_TRUE(until_held("n1", {gibibytes(7)}));
    std::atomic<bool> done = false;
    feed.relist_pods([&] { done = true; });
    EXPECT_TRUE(until([&](ClusterState&) { return done.load(); }));
    EXPECT_TRUE(until_held("n1", {gibibytes(4)}));
}

// Goal: what happens afterwards reaches the view: pods and nodes that come, change and go.
TEST_F(FeedTest, FollowsChanges) {
    Feed feed(kube_, keeper_, scheduler_, metrics_, clock_);
    const FeedThreads threads(feed);
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    kube_.put_pod(bound_pod("p", "n1", 5));
    EXPECT_TRUE(until_held("n1", {gibibytes(5)}));
    PodFacts ended = bound_pod("p", "n1", 5);
    ended.finished = true;
    kube_.put_pod(ended);
    EXPECT_TRUE(until_held("n1", {Bytes{}}));
    kube_.put_pod(bound_pod("q", "n1", 7));
    EXPECT_TRUE(until_held("n1", {gibibytes(7)}));
    kube_.delete_pod({"default", "q"});
    EXPECT_TRUE(until_held("n1", {Bytes{}}));
    kube_.delete_node(NodeName("n1"));
    EXPECT_TRUE(until([](ClusterState& state) { return state.view()->find("n1") == nullptr; }));
}

// Goal: a Binding that the controller wrote is confirmed by the watch alone.
TEST_F(FeedTest, WatchConfirmsOurBinding) {
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    const PodFacts pod = build::pod("p", build::aliyun(4));
    kube_.put_pod(pod);
    Feed feed(kube_, keeper_, scheduler_, metrics_, clock_);
    const FeedThreads threads(feed);
    ASSERT_TRUE(until([&](ClusterState&) { return feed.synced().load(); }));
    ASSERT_TRUE(scheduler_.bind({pod.name, pod.uid, NodeName("n1")}));
    EXPECT_TRUE(until([&](ClusterState& state) {
        const auto view = state.view();
        const auto& tenants = view->find("n1")->tenants;
        return tenants.size() == 1 && tenants[0]->stage == Stage::seen;
    }));
}

// An API server that shows one batch of node changes after an empty list, and its list of pods only
// once it is let.
class ScriptedApi final : public KubeApi {
  public:
    explicit ScriptedApi(NodeChanges batch) : batch_(std::move(batch)) {}
    void let_pods() { pods_.set_value(); }

    void follow_nodes(const std::function<void(NodeChanges)>& sink, const Trouble& trouble,
                      std::stop_token) override {
        sink({.present = {}, .removed = {}, .all = std::set<NodeName>{}});
        trouble({Code::unavailable, "cut"});
        sink(batch_);
    }
    void follow_pods(const std::function<void(PodChanges)>& sink, const Trouble&,
                     std::stop_token stop) override {
        pods_.get_future().wait();
        sink({.present = {}, .removed = {}, .all = std::set<PodUid>{}});
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait(lock, stop, [] { return false; });
    }
    Result<> bind(const PodUid&, const PodName&, const NodeName&, const StringMap&) override {
        return {};
    }
    Result<PodFacts> get_pod(const PodName&) override { return PodFacts{}; }
    Result<std::vector<NodeInventory>> list_nodes() override {
        return std::vector<NodeInventory>{};
    }
    Result<std::vector<PodFacts>> list_pods(const NodeName&) override {
        return std::vector<PodFacts>{};
    }
    Result<std::vector<NodePod>> list_node_pods(const NodeName&) override {
        return std::vector<NodePod>{};
    }
    Result<NodeShown> node_shows(const NodeName&, const StringMap&, const StringMap&) override {
        return NodeShown{};
    }
    Result<> annotate_node(const NodeName&, const StringMap&) override { return {}; }
    Result<> set_node_resources(const NodeName&, const StringMap&) override { return {}; }

  private:
    const NodeChanges batch_;
    std::promise<void> pods_;
};

// Goal: a node that was deleted and made again within one batch of the watch is there; and before
// both lists are in, the feed does not say that it knows the cluster.
TEST_F(FeedTest, NodeMadeAgainAndListsMissing) {
    ScriptedApi api(
        {.present = {build::node("n1", 1, gibibytes(16))}, .removed = {NodeName("n1")}, .all = {}});
    Feed feed(api, keeper_, scheduler_, metrics_, clock_);
    const FeedThreads threads(feed);
    EXPECT_TRUE(until([](ClusterState& state) { return state.view()->find("n1") != nullptr; }));
    EXPECT_FALSE(feed.synced());
    api.let_pods();
    EXPECT_TRUE(until([&](ClusterState&) { return feed.synced().load(); }));
}

}  // namespace
}  // namespace tessera

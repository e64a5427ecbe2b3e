#include "app/scheduler/informers/informers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "base/mutex.hpp"
#include "testing/builders/builders.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_kube_api.hpp"

namespace tessera {
namespace {

class InformersTest : public ::testing::Test {
  protected:
    // Calls `done` on the state until it returns true; false after ten seconds.
    bool until(const std::function<bool(ClusterState&)>& done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (std::chrono::steady_clock::now() < deadline) {
            if (cache_.call(done)) return true;
            std::this_thread::yield();
        }
        return false;
    }
    bool until_allocated(const std::string& node, std::vector<Bytes> expected) {
        return until([&](ClusterState& state) {
            const auto snapshot = state.snapshot();
            const NodeInfo* found = snapshot->find(node);
            if (found == nullptr || found->gpus.size() != expected.size()) return false;
            for (std::size_t i = 0; i < expected.size(); ++i) {
                if (found->gpus[i].allocated != expected[i]) return false;
            }
            return true;
        });
    }
    static PodInfo bound_pod(const std::string& name, const std::string& node, int gib) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
        return build::bound(
            pod, build::allocation(
                     pod, node, {{GpuUuid("GPU-" + node + "-0"), 0, gibibytes(gib), {}, false}}));
    }

    FakeKubeApi kube_;
    ClusterCache cache_;
    FakeClock clock_;
    SchedulerMetrics metrics_{clock_};
    Scheduler scheduler_{kube_, cache_, clock_, {}};
};

// Goal: a restart rebuilds everything from the API server: GPUs, allocations and waiting pods.
TEST_F(InformersTest, RebuildsFromTheApi) {
    kube_.put_node(build::node("n1", 2, gibibytes(16)));
    kube_.put_pod(bound_pod("running", "n1", 5));
    kube_.put_pod(build::pod("waiting", build::aliyun(3)));
    Informers informers(kube_, cache_, scheduler_, metrics_, clock_);
    const InformerThreads threads(informers);
    EXPECT_TRUE(until_allocated("n1", {gibibytes(5), {}}));
    EXPECT_TRUE(until([](ClusterState& state) { return state.pending_count() == 1; }));
    EXPECT_TRUE(until([&](ClusterState&) { return informers.synced().load(); }));
}

// Goal: the metrics count the lists that were read, and show when a watch last delivered.
TEST_F(InformersTest, IsSeenInTheMetrics) {
    clock_.advance(std::chrono::minutes(5));
    Informers informers(kube_, cache_, scheduler_, metrics_, clock_);
    const InformerThreads threads(informers);
    EXPECT_TRUE(until([&](ClusterState&) { return informers.synced().load(); }));
    const auto snapshot = cache_.snapshot();
    const WaitingCounts waiting;
    const std::string text = metrics_.expose({.snapshot = *snapshot, .waiting = waiting});
    for (const std::string resource : {"nodes", "pods"}) {
        EXPECT_NE(text.find("tessera_watch_age_seconds{resource=\"" + resource + "\"} 0\n"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("tessera_lists_total{resource=\"" + resource + "\"} 1\n"),
                  std::string::npos);
    }
}

// Goal: a requested list is a new one, and is in the snapshot before `done` is called.
TEST_F(InformersTest, ListsAnew) {
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    Informers informers(kube_, cache_, scheduler_, metrics_, clock_);
    std::atomic<int> done = 0;
    informers.relist_pods([&] { ++done; });
    const InformerThreads threads(informers);
    EXPECT_TRUE(until([&](ClusterState&) { return done == 1; }));
    ASSERT_TRUE(until([&](ClusterState&) { return informers.synced().load(); }));
    kube_.pause_watches(true);
    kube_.put_pod(bound_pod("unseen", "n1", 5));
    for (int i = 2; i < 5; ++i) {
        informers.relist_pods([&] {
            const Bytes allocated = cache_.snapshot()->find("n1")->gpus[0].allocated;
            if (allocated == gibibytes(5)) ++done;
        });
        EXPECT_TRUE(until([&](ClusterState&) { return done == i; }));
    }
}

// Goal: an uncertain reservation of an earlier term ends with the list that begins a new term,
// because another leader may have given its GPUs to another pod. One whose Binding is under way
// does not end.
TEST_F(InformersTest, RelistEndsDoubts) {
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    Informers informers(kube_, cache_, scheduler_, metrics_, clock_);
    const InformerThreads threads(informers);
    ASSERT_TRUE(until([&](ClusterState&) { return informers.synced().load(); }));
    cache_.call([&](ClusterState& state) {
        for (const auto& [name, gib] : {std::pair("doubt", 3), std::pair("under-way", 4)}) {
            const PodInfo pod = build::pod(name, build::native(gibibytes(gib)));
            const auto made = state.reserve(build::request(pod), NodeName("n1"));
            EXPECT_TRUE(made);
            if (gib == 3) state.confirm(made->attempt);
        }
        return 0;
    });
    ASSERT_TRUE(until_allocated("n1", {gibibytes(7)}));
    std::atomic<bool> done = false;
    informers.relist_pods([&] { done = true; });
    EXPECT_TRUE(until([&](ClusterState&) { return done.load(); }));
    EXPECT_TRUE(until_allocated("n1", {gibibytes(4)}));
}

// Goal: later changes reach the snapshot: pods and nodes that are created, changed and deleted.
TEST_F(InformersTest, FollowsChanges) {
    Informers informers(kube_, cache_, scheduler_, metrics_, clock_);
    const InformerThreads threads(informers);
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    kube_.put_pod(bound_pod("p", "n1", 5));
    EXPECT_TRUE(until_allocated("n1", {gibibytes(5)}));
    PodInfo ended = bound_pod("p", "n1", 5);
    ended.finished = true;
    kube_.put_pod(ended);
    EXPECT_TRUE(until_allocated("n1", {Bytes{}}));
    kube_.put_pod(bound_pod("q", "n1", 7));
    EXPECT_TRUE(until_allocated("n1", {gibibytes(7)}));
    kube_.delete_pod({"default", "q"});
    EXPECT_TRUE(until_allocated("n1", {Bytes{}}));
    kube_.delete_node(NodeName("n1"));
    EXPECT_TRUE(until([](ClusterState& state) { return state.snapshot()->find("n1") == nullptr; }));
}

// Goal: the watch alone confirms a Binding that the controller wrote.
TEST_F(InformersTest, WatchConfirmsOurBinding) {
    kube_.put_node(build::node("n1", 1, gibibytes(16)));
    const PodInfo pod = build::pod("p", build::aliyun(4));
    kube_.put_pod(pod);
    Informers informers(kube_, cache_, scheduler_, metrics_, clock_);
    const InformerThreads threads(informers);
    ASSERT_TRUE(until([&](ClusterState&) { return informers.synced().load(); }));
    ASSERT_TRUE(scheduler_.bind({pod.name, pod.uid, NodeName("n1")}));
    EXPECT_TRUE(until([&](ClusterState& state) {
        const auto snapshot = state.snapshot();
        const auto& assigned_pods = snapshot->find("n1")->assigned_pods;
        return assigned_pods.size() == 1 && assigned_pods[0]->stage == Stage::observed;
    }));
}

// An API server that shows one batch of node changes after an empty list. It gives its list of pods
// only after let_pods().
class ScriptedApi final : public KubeApi {
  public:
    explicit ScriptedApi(NodeChanges batch) : batch_(std::move(batch)) {}
    void let_pods() { pods_.set_value(); }

    void follow_nodes(const std::function<void(NodeChanges)>& sink, const ErrorSink& on_error,
                      std::stop_token) override {
        sink({.upserted = {}, .deleted = {}, .listed = std::set<NodeName>{}});
        on_error({Code::unavailable, "cut"});
        sink(batch_);
    }
    void follow_pods(const std::function<void(PodChanges)>& sink, const ErrorSink&,
                     std::stop_token stop) override {
        pods_.get_future().wait();
        sink({.upserted = {}, .deleted = {}, .listed = std::set<PodUid>{}});
        Mutex mutex;
        MutexLock lock(mutex);
        std::condition_variable_any().wait(lock, stop, [] { return false; });
    }
    Result<> bind(const PodUid&, const PodName&, const NodeName&, const StringMap&) override {
        return {};
    }
    Result<PodInfo> get_pod(const PodName&) override { return PodInfo{}; }
    Result<std::vector<NodeInventory>> list_nodes() override {
        return std::vector<NodeInventory>{};
    }
    Result<std::vector<PodInfo>> list_pods(const NodeName&) override {
        return std::vector<PodInfo>{};
    }
    Result<std::vector<NodePod>> list_node_pods(const NodeName&) override {
        return std::vector<NodePod>{};
    }
    Result<NodeShown> node_shows(const NodeName&, const NodeWanted&) override {
        return NodeShown{};
    }
    Result<> set_node_metadata(const NodeName&, const StringMap&, const StringMap&) override {
        return {};
    }
    Result<> set_node_resources(const NodeName&, const StringMap&) override { return {}; }

  private:
    const NodeChanges batch_;
    std::promise<void> pods_;
};

// Goal: a node that was deleted and created again within one batch of the watch is there. Until
// both lists are in, the informers are not synced.
TEST_F(InformersTest, NodeMadeAgainAndListsMissing) {
    ScriptedApi api({.upserted = {build::node("n1", 1, gibibytes(16))},
                     .deleted = {NodeName("n1")},
                     .listed = {}});
    Informers informers(api, cache_, scheduler_, metrics_, clock_);
    const InformerThreads threads(informers);
    EXPECT_TRUE(until([](ClusterState& state) { return state.snapshot()->find("n1") != nullptr; }));
    EXPECT_FALSE(informers.synced());
    api.let_pods();
    EXPECT_TRUE(until([&](ClusterState&) { return informers.synced().load(); }));
}

}  // namespace
}  // namespace tessera

#include "app/scheduler/scoring/score_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "app/scheduler/filter/node_choice.hpp"
#include "domain/placement/engine/index.hpp"
#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

// Of a GPU of 1,000 parts: a part is the smallest share.
constexpr Bytes parts(std::int64_t n) {
    return mebibytes(2 * n);
}

// A part is a thousandth of it.
constexpr Bytes kGpu = parts(kMilliPerGpu);

struct Host {
    int gpus;
    int cpu_milli;
    int model;
};

// The same cluster twice: in the simulator's form, and in the controller's.
class Twins {
  public:
    Twins(const std::vector<Host>& hosts, const PlacementPolicyRow& row, const PolicyInputs& inputs)
        : engine_(shapes(hosts, models_)),
          policy_(row.make(inputs)),
          index_(engine_, *policy_),
          scores_(policy_->copy()) {
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            names_.push_back(fmt::format("n{:03}", i));
            NodeInventory node = build::node(names_.back(), hosts[i].gpus, kGpu);
            node.host = {hosts[i].cpu_milli, gibibytes(1'000)};
            for (Gpu& gpu : node.gpus)
                gpu.model = fmt::format("model-{}", hosts[i].model);
            state_.set_node(node);
        }
    }

    // Places a task on both; false if it fits on neither.
    bool place(const PlacementTask& task) {
        const PodInfo pod = pod_of(task);
        const auto decision = index_.choose(task, 0);
        ExtenderArgs args;
        args.pod = pod;
        args.names.assign(names_.begin(), names_.end());
        const auto snapshot = state_.snapshot();
        // A slow policy scores all nodes only after the first request.
        choose_nodes(*snapshot, args, build::request(pod), &scores_, 1);
        RC_ASSERT(scores_.catch_up(*snapshot, 1'000));
        const auto answer = choose_nodes(*snapshot, args, build::request(pod), &scores_, 1);
        if (!decision) {
            // The engine knows of CPU, which kube-scheduler checks before it calls us.
            const bool is_last =
                answer.fitting.empty() || is_unrated(*snapshot, answer.fitting[0], pod);
            RC_ASSERT(is_last);
            return false;
        }
        RC_ASSERT(answer.fitting == std::vector{decision->node});
        const auto made =
            state_.reserve(build::request(pod), NodeName(names_[decision->node]), &scores_);
        RC_ASSERT(made.has_value());
        GpuSet gpus = 0;
        for (const GpuShare& share : made->allocation.containers[0].gpus)
            gpus = static_cast<GpuSet>(gpus | gpu_bit(share.index));
        RC_ASSERT(gpus == decision->score.gpus);
        engine_.place(decision->node, task, gpus);
        state_.set_pod(build::bound(pod, made->allocation));
        running_.push_back({pod.uid, decision->node, task, gpus});
        for (std::size_t i = 0; i < names_.size(); ++i)
            RC_ASSERT(loads_agree(i));
        return true;
    }

    void end(std::size_t which) {
        if (running_.empty()) return;
        const Running ended = running_[which % running_.size()];
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which % running_.size()));
        engine_.release(ended.node, ended.task, ended.gpus);
        state_.remove_pod(ended.uid);
    }

  private:
    struct Running {
        PodUid uid;
        std::size_t node;
        PlacementTask task;
        GpuSet gpus;
    };

    // The engine numbers models in the order of their arrival; `models` gets the hosts' own by
    // these numbers.
    static std::vector<NodeShape> shapes(const std::vector<Host>& hosts, std::vector<int>& models) {
        std::vector<NodeShape> out;
        for (const Host& host : hosts) {
            auto known = std::ranges::find(models, host.model);
            if (known == models.end()) known = models.insert(models.end(), host.model);
            out.push_back({.cpu_milli = host.cpu_milli,
                           .memory_mib = 1'000'000,
                           .gpus = host.gpus,
                           .model = static_cast<int>(known - models.begin())});
        }
        return out;
    }

    PodInfo pod_of(const PlacementTask& task) {
        const bool is_whole = task.milli == kMilliPerGpu;
        PodInfo pod = build::pod(
            fmt::format("p{}", pods_++),
            is_whole ? build::whole(task.count) : build::native(parts(task.milli), task.count));
        pod.host.cpu_milli = task.cpu_milli;
        if (task.models == kAnyModel) return pod;
        for (std::size_t number = 0; number < models_.size(); ++number) {
            if ((task.models & model_bit(static_cast<int>(number))) != 0)
                pod.gpu_rules.models += fmt::format("model-{},", models_[number]);
        }
        if (pod.gpu_rules.models.empty()) pod.gpu_rules.models = "a model that is nowhere,";
        pod.gpu_rules.models.pop_back();
        return pod;
    }

    [[nodiscard]] bool is_unrated(const Snapshot& snapshot, std::size_t node,
                                  const PodInfo& pod) const {
        const std::uint32_t position = snapshot.position(names_[node]);
        return scores_.score(snapshot, {&position, 1}, build::request(pod))[0] == NodeScorer::kLast;
    }

    [[nodiscard]] bool loads_agree(std::size_t node) {
        NodeLoad ours = state_.snapshot()->find(names_[node])->load;
        ours.memory_mib = engine_.load(node).memory_mib;
        return ours == engine_.load(node);
    }

    std::vector<int> models_;
    PlacementEngine engine_;
    std::unique_ptr<PlacementPolicy> policy_;
    EngineIndex index_;
    ScoreCache scores_;
    ClusterState state_;
    std::vector<std::string> names_;
    std::vector<Running> running_;
    int pods_ = 0;
};

// Numbers from a seed that rapidcheck gives: its own generators begin with small clusters only.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : engine_(seed) {}
    int between(int least, int most) {
        return least + static_cast<int>(engine_() % static_cast<std::uint64_t>(most - least + 1));
    }
    PlacementTask task() {
        const bool is_share = between(0, 2) > 0;
        return {.cpu_milli = between(0, 8) * 500,
                .milli = static_cast<std::int16_t>(is_share ? between(1, 19) * 50 : kMilliPerGpu),
                .count = static_cast<std::int16_t>(between(1, is_share ? 2 : 4)),
                .models = between(0, 3) == 0 ? static_cast<ModelSet>(between(1, 7)) : kAnyModel};
    }

  private:
    std::mt19937_64 engine_;
};

// Goal: for the same state the extender and the simulator choose the same node and the same GPUs,
// under every policy without random choices. So no pod is given more than there is. Method: random
// clusters on which tasks come and go, once through EngineIndex, once through choose_nodes and
// ClusterState::reserve.
RC_GTEST_PROP(ScoreCache, ExtenderAndSimulatorAgree, ()) {
    Dice dice(*rc::gen::arbitrary<std::uint64_t>());
    for (const PlacementPolicyRow& row : placement_policies()) {
        if (row.name == "random") continue;
        // Many nodes are scored in another way than few (node_choice.cpp).
        const int most = dice.between(0, 9) == 0 ? 90 : 12;
        std::vector<Host> hosts(static_cast<std::size_t>(dice.between(1, most)));
        for (Host& host : hosts)
            host = {dice.between(1, 8), dice.between(1, 8) * 4'000, dice.between(0, 2)};
        std::vector<MixClass> mix;
        for (int i = 0; i < 5; ++i) {
            const PlacementTask task = dice.task();
            mix.push_back({task.cpu_milli, task.milli, task.count, kAnyModel, 0.2});
        }
        Twins twins(hosts, row, {.mix = mix});
        for (int step = 0; step < 40; ++step) {
            if (dice.between(0, 3) == 0) {
                twins.end(static_cast<std::size_t>(dice.between(0, 1'000)));
            } else {
                twins.place(dice.task());
            }
        }
    }
}

// Nodes of one GPU each, with a different part allocated on each.
class ManyNodes : public testing::Test {
  protected:
    ManyNodes() {
        for (int i = 0; i < kNodes; ++i) {
            const std::string name = fmt::format("n{:03}", i);
            state_.set_node(build::node(name, 1, kGpu));
            take(i, 1 + i);
            all_.push_back(state_.snapshot()->position(name));
        }
    }
    void take(int node, int milli) {
        const PodInfo pod =
            build::pod(fmt::format("there-{}", pods_++), build::native(parts(milli)));
        const NodeName name(fmt::format("n{:03}", node));
        const auto made = state_.reserve(build::request(pod), name);
        ASSERT_TRUE(made);
        state_.set_pod(build::bound(pod, made->allocation));
    }
    std::vector<std::int64_t> score(const ScoreCache& scores, int milli) {
        const PodRequest pod = build::request(build::pod("asks", build::native(parts(milli))));
        return scores.score(*state_.snapshot(), all_, pod);
    }
    // Scores with a new cache, node by node.
    std::vector<std::int64_t> score_again(int milli) {
        const PodRequest pod = build::request(build::pod("asks", build::native(parts(milli))));
        const ScoreCache scores = fgd();
        std::vector<std::int64_t> out;
        for (const std::uint32_t position : all_)
            out.push_back(scores.score(*state_.snapshot(), {&position, 1}, pod)[0]);
        return out;
    }
    static ScoreCache fgd() {
        static const std::vector<MixClass> mix = {{0, 300, 1, kAnyModel, 0.7},
                                                  {0, 550, 1, kAnyModel, 0.3}};
        return ScoreCache((*find_policy_option("fgd"))->make({.mix = mix}));
    }

    static constexpr int kNodes = 100;
    ClusterState state_;
    std::vector<std::uint32_t> all_;
    int pods_ = 0;
};

// Goal: a new kind of task costs a request a few scores, those of the fullest nodes. After
// catch_up(), the next request has all of them.
TEST_F(ManyNodes, AreRatedBehindTheFirstRequest) {
    ScoreCache scores = fgd();
    const auto truth = score_again(200);
    const auto first = score(scores, 200);
    for (int i = 0; i < kNodes; ++i) {
        const bool is_among_fullest = i >= kNodes - static_cast<int>(ScoreCache::kFullestAnew);
        EXPECT_EQ(first[i], is_among_fullest ? truth[i] : NodeScorer::kLast) << i;
    }
    EXPECT_FALSE(scores.catch_up(*state_.snapshot(), 10));
    EXPECT_TRUE(scores.catch_up(*state_.snapshot(), kNodes));
    EXPECT_EQ(score(scores, 200), truth);
    EXPECT_TRUE(scores.catch_up(*state_.snapshot(), 0)) << "no work is left";
}

// Goal: of changed nodes a few are scored again at once, those that would win among them. The
// others keep their old score.
TEST_F(ManyNodes, GoByWhatTheyWere) {
    ScoreCache scores = fgd();
    score(scores, 200);
    ASSERT_TRUE(scores.catch_up(*state_.snapshot(), kNodes));
    const auto before = score(scores, 200);
    take(7, 400);
    EXPECT_EQ(score(scores, 200), score_again(200));
    for (int i = 20; i < 60; ++i)
        take(i, 400);
    const auto truth = score_again(200);
    const auto after = score(scores, 200);
    for (int i = 20; i < 60; ++i) {
        const bool is_among_fullest = i >= 60 - static_cast<int>(ScoreCache::kFullestAnew);
        EXPECT_TRUE(after[i] == truth[i] || (!is_among_fullest && after[i] == before[i])) << i;
    }
    EXPECT_NE(after, truth);
    const auto winner = std::ranges::max_element(after) - after.begin();
    EXPECT_EQ(after[winner], truth[winner]);
    EXPECT_TRUE(scores.catch_up(*state_.snapshot(), kNodes));
    EXPECT_EQ(score(scores, 200), truth);
}

// Goal: score_room() is remembered like any other request: if there are too many kinds, those whose
// last request is the oldest are forgotten.
TEST_F(ManyNodes, ForgetWhatRoomWasAskedForLongestAgo) {
    constexpr int kKinds = 256;
    const ScoreCache scores = fgd();
    const auto snapshot = state_.snapshot();
    const NodeInfo& node = *snapshot->row(0).node;
    const auto request = [&](int from, int to) {
        for (int milli = from; milli < to; ++milli) {
            const PodRequest pod = build::request(build::pod("asks", build::native(parts(milli))));
            (void)scores.score_room(node, node.node_gpus(), pod);
        }
    };
    request(1, kKinds + 1);
    request(1, kKinds / 2);
    const auto first = scores.kinds();
    request(kKinds + 1, kKinds + kKinds / 2);
    const auto then = scores.kinds();
    EXPECT_EQ(then.size(), first.size());
    const auto is_known = [&](int milli) {
        return std::ranges::any_of(then,
                                   [&](const PlacementTask& kind) { return kind.milli == milli; });
    };
    for (int milli = 1; milli < kKinds / 2; ++milli) {
        EXPECT_TRUE(is_known(milli)) << milli;
        EXPECT_TRUE(is_known(kKinds + milli)) << milli;
    }
}

// Goal: requests during catch_up() that make it forget all kinds get known scores or the last
// place.
TEST_F(ManyNodes, AreAskedAboutMeanwhile) {
    ScoreCache scores = fgd();
    const auto snapshot = state_.snapshot();
    std::jthread catching([&](const std::stop_token& stop) {
        while (!stop.stop_requested())
            scores.catch_up(*snapshot, 50);
    });
    std::map<int, std::vector<std::int64_t>> truths;
    for (int round = 0; round < 3; ++round) {
        // Some 600 kinds: more than the cache keeps.
        for (int milli = 1; milli <= 600; ++milli) {
            auto& truth = truths[milli];
            if (truth.empty()) truth = score_again(milli);
            const PodRequest pod = build::request(build::pod("asks", build::native(parts(milli))));
            const auto scored = scores.score(*snapshot, all_, pod);
            for (int i = 0; i < kNodes; ++i) {
                ASSERT_TRUE(scored[i] == NodeScorer::kLast || scored[i] == truth[i]) << milli;
            }
        }
    }
    catching = {};
    EXPECT_TRUE(scores.catch_up(*snapshot, 1'000'000));
    for (int milli = 500; milli <= 600; ++milli)
        EXPECT_EQ(score(scores, milli), truths[milli]) << milli;
}

// Goal: a score that is kept for a position belongs to the node that is there.
TEST_F(ManyNodes, AreNotTakenForOthers) {
    ScoreCache scores = fgd();
    score(scores, 200);
    ASSERT_TRUE(scores.catch_up(*state_.snapshot(), kNodes));
    for (int i = 0; i < kNodes; ++i)
        take(i, 300);
    for (int i = 0; i < 10; ++i)
        state_.set_node(build::node(fmt::format("a{}", i), 1, kGpu));  // before all others
    const auto snapshot = state_.snapshot();
    for (int i = 0; i < kNodes; ++i)
        all_[i] = snapshot->position(fmt::format("n{:03}", i));
    const auto truth = score_again(200);
    const auto scored = score(scores, 200);
    for (int i = 0; i < kNodes; ++i)
        EXPECT_TRUE(scored[i] == truth[i] || scored[i] == NodeScorer::kLast) << i;
    EXPECT_TRUE(scores.catch_up(*snapshot, 2 * kNodes));
    EXPECT_EQ(score(scores, 200), truth);
}

// Goal: if there is more to score than time allows, requested kinds come first.
TEST_F(ManyNodes, AreRatedFirstForKindsThatWereAskedFor) {
    ScoreCache scores = fgd();
    std::vector<PlacementTask> expected;
    for (std::int16_t milli = 300; milli < 500; milli = static_cast<std::int16_t>(milli + 10))
        expected.push_back({.milli = milli, .count = 1});
    scores.expect(expected);
    score(scores, 200);
    EXPECT_FALSE(scores.catch_up(*state_.snapshot(), kNodes))
        << "the other kinds were not requested";
    EXPECT_EQ(score(scores, 200), score_again(200));
}

// Goal: kinds that were not requested for long are not passed on; recent ones are.
TEST_F(ManyNodes, AreRatedForKindsOfLate) {
    ScoreCache first = fgd();
    score(first, 200);
    ScoreCache second = fgd();
    second.expect_those_of(first);
    EXPECT_EQ(second.kinds(), first.kinds());
    score(second, 300);
    ScoreCache third = fgd();
    third.expect_those_of(second);
    EXPECT_EQ(third.kinds().size(), 2U);
    ScoreCache fourth = fgd();
    fourth.expect_those_of(third);
    EXPECT_EQ(fourth.kinds().size(), 2U);
    ScoreCache fifth = fgd();
    fifth.expect_those_of(fourth);
    ASSERT_EQ(fifth.kinds().size(), 1U);
    EXPECT_EQ(fifth.kinds()[0].milli, 300);
}

// Goal: if a pod's rules allow a part of each node, those parts are scored after the request.
TEST(ScoreCache, CatchUpWithWhatRulesLeave) {
    ClusterState state;
    std::vector<std::string> names;
    for (int i = 0; i < 40; ++i) {
        names.push_back(fmt::format("n{:02}", i));
        NodeInventory node = build::node(names.back(), 4, kGpu);
        for (std::size_t gpu = 0; gpu < 4; ++gpu)
            node.gpus[gpu].links.nvlink = std::uint64_t{1} << (gpu ^ 1U);
        state.set_node(node);
        for (int gpu = 0; gpu < 4; ++gpu) {
            PodInfo pod = build::pod(fmt::format("{}-{}", names.back(), gpu),
                                     build::native(parts(1 + 7 * i + 50 * gpu)));
            pod.gpu_rules.uuids = fmt::format("GPU-{}-{}", names.back(), gpu);
            const auto made = state.reserve(build::request(pod), NodeName(names.back()));
            ASSERT_TRUE(made);
            state.set_pod(build::bound(pod, made->allocation));
        }
    }
    const auto snapshot = state.snapshot();
    std::vector<std::uint32_t> all;
    for (const std::string& name : names)
        all.push_back(snapshot->position(name));
    PodInfo pod = build::pod("p", build::native(parts(300), 2));
    pod.gpu_rules.topology = "nvlink";
    const PodRequest request = build::request(pod);
    const std::vector<MixClass> mix = {{0, 300, 1, kAnyModel, 0.7}, {0, 550, 1, kAnyModel, 0.3}};
    const auto make = [&] { return (*find_policy_option("fgd"))->make({.mix = mix}); };
    std::vector<std::int64_t> truth;
    const ScoreCache other(make());
    for (const std::uint32_t position : all)
        truth.push_back(other.score(*snapshot, {&position, 1}, request)[0]);
    ScoreCache scores(make());
    ASSERT_TRUE(scores.catch_up(*snapshot, 1'000));
    const auto first = scores.score(*snapshot, all, request);
    EXPECT_NE(first, truth);
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_TRUE(first[i] == truth[i] || first[i] == NodeScorer::kLast) << i;
    EXPECT_TRUE(scores.catch_up(*snapshot, 1'000));
    EXPECT_EQ(scores.score(*snapshot, all, request), truth);
}

// Goal: a pod for which the engine has no terms, or that fits in bytes and not in thousandths, is
// still placed, by best fit.
TEST(ScoreCache, HasNoSayWhereItHasNoTerms) {
    const ScoreCache scores((*find_policy_option("spread"))->make({}));
    ClusterState state;
    state.set_node(build::node("n0", 1, gibibytes(16)));
    std::vector<ContainerSpec> containers = build::native(gibibytes(4));
    containers.insert(containers.begin(), build::container("prepare",
                                                           {{"tessera.dev/gpu-share", "1"},
                                                            {"tessera.dev/gpu-memory", "4Gi"}},
                                                           ContainerKind::init));
    const PodInfo pod = build::pod("p", containers);
    const auto snapshot = state.snapshot();
    const std::uint32_t position = snapshot->position("n0");
    EXPECT_EQ(scores.score(*snapshot, {&position, 1}, build::request(pod))[0], NodeScorer::kLast);
    EXPECT_TRUE(state.reserve(build::request(pod), NodeName("n0"), &scores));

    // A GPU of 3 parts, of which pods take one each: a third of it is 334 thousandths.
    state.set_node(build::node("n1", 1, parts(3)));
    for (const auto* name : {"a", "b", "c"}) {
        const PodInfo tiny = build::pod(name, build::native(parts(1)));
        EXPECT_TRUE(state.reserve(build::request(tiny), NodeName("n1"), &scores)) << name;
    }
    const PodInfo more = build::pod("d", build::native(parts(1)));
    EXPECT_FALSE(state.reserve(build::request(more), NodeName("n1"), &scores));
}

// Goal: under every policy several GPUs are near each other, whether the pod requests it or not,
// and single ones leave pairs whole.
TEST(ScoreCache, KeepToLinks) {
    NodeInventory node = build::node("n", 4, gibibytes(16));
    for (std::size_t gpu = 0; gpu < 4; ++gpu)
        node.gpus[gpu].links.nvlink = std::uint64_t{1} << ((gpu + 2) % 4);
    for (const PlacementPolicyRow& row : placement_policies()) {
        if (row.is_simulated_only) continue;
        const ScoreCache scores(row.make({}));
        ClusterState state;
        state.set_node(node);
        const auto place = [&](const char* name, std::vector<ContainerSpec> containers,
                               const char* links) {
            PodInfo pod = build::pod(name, std::move(containers));
            pod.gpu_rules.topology = links;
            std::set<int> gpus;
            const auto made = state.reserve(build::request(pod), NodeName("n"), &scores);
            if (!made) return gpus;
            for (const GpuShare& share : made->allocation.containers[0].gpus)
                gpus.insert(share.index);
            state.set_pod(build::bound(pod, made->allocation));
            return gpus;
        };
        const auto are_pair = [](const std::set<int>& gpus) {
            return gpus == std::set{0, 2} || gpus == std::set{1, 3};
        };
        EXPECT_TRUE(are_pair(place("whole", build::whole(2), ""))) << row.name;
        EXPECT_TRUE(are_pair(place("shares", build::native(gibibytes(3), 2), "nvlink")))
            << row.name;
        state.remove_pod(PodUid("uid-whole"));
        state.remove_pod(PodUid("uid-shares"));
        std::set<int> singles = place("one", build::whole(1), "");
        singles.merge(place("two", build::whole(1), ""));
        EXPECT_TRUE(are_pair(singles)) << row.name;
    }
}

// Goal: a policy considers the other near GPUs if its first choice among them is too small.
TEST(ScoreCache, LooksOnAmongNearGpus) {
    NodeInventory node = build::node("n", 4, gibibytes(80));
    node.gpus[1].memory = gibibytes(16);
    for (std::size_t gpu = 0; gpu < 4; ++gpu)
        node.gpus[gpu].links.numa = gpu == 3 ? 1 : 0;
    ClusterState state;
    state.set_node(node);
    PodInfo there = build::pod("there", build::native(gibibytes(40)));
    there.gpu_rules.uuids = "GPU-n-3";
    state.set_pod(
        build::bound(there, state.reserve(build::request(there), NodeName("n"))->allocation));
    for (const PlacementPolicyRow& row : placement_policies()) {
        if (row.is_simulated_only) continue;
        const ScoreCache scores(row.make({}));
        const PodInfo pod = build::pod("p", build::native(gibibytes(20), 2));
        const auto snapshot = state.snapshot();
        const NodeInfo& seen = *snapshot->find("n");
        const auto assignment = scores.choose(seen, seen.node_gpus(), build::request(pod));
        ASSERT_TRUE(assignment) << row.name;
        EXPECT_EQ(std::set<int>(assignment->gpus.begin(), assignment->gpus.end()), (std::set{0, 2}))
            << row.name;
    }
}

// Goal: a pod that requires linked GPUs is scored by the GPUs that it would get, not by others of
// the node.
TEST(ScoreCache, ScoresTheLinkedGpus) {
    ClusterState state;
    for (const char* name : {"tight", "wide"}) {
        NodeInventory node = build::node(name, 4, gibibytes(16));
        node.gpus[2].links.nvlink = 0b1000;
        node.gpus[3].links.nvlink = 0b0100;
        state.set_node(node);
    }
    const auto fill = [&](const char* node, int gpu, int gib) {
        PodInfo pod = build::pod(fmt::format("{}-{}", node, gpu), build::native(gibibytes(gib)));
        pod.gpu_rules.uuids = fmt::format("GPU-{}-{}", node, gpu);
        const auto made = state.reserve(build::request(pod), NodeName(node));
        state.set_pod(build::bound(pod, made->allocation));
    };
    fill("wide", 0, 12);  // the tightest GPUs of all, and not linked
    fill("wide", 1, 12);
    fill("tight", 2, 8);
    fill("tight", 3, 8);
    const ScoreCache scores((*find_policy_option("binpack"))->make({}));
    PodInfo pod = build::pod("p", build::native(gibibytes(4), 2));
    const auto snapshot = state.snapshot();
    const std::vector<std::uint32_t> positions = {snapshot->position("tight"),
                                                  snapshot->position("wide")};
    const auto anywhere = scores.score(*snapshot, positions, build::request(pod));
    EXPECT_LT(anywhere[0], anywhere[1]);
    pod.gpu_rules.topology = "nvlink";
    const auto linked = scores.score(*snapshot, positions, build::request(pod));
    EXPECT_GT(linked[0], linked[1]);
}

// Goal: the policy's GPUs for a pod are not those that are reserved for a pod behind it.
TEST(ScoreCache, LeavesWhatIsKeptForOthers) {
    NodeInventory node = build::node("n", 3, gibibytes(80));
    node.gpus[0].links.nvlink = 0b010;
    node.gpus[1].links.nvlink = 0b001;
    ClusterState state;
    state.set_node(node);
    PodInfo there = build::pod("there", build::native(gibibytes(40)));
    there.gpu_rules.uuids = "GPU-n-2";
    state.set_pod(
        build::bound(there, state.reserve(build::request(there), NodeName("n"))->allocation));
    const PodInfo one = build::pod("one", build::native(gibibytes(10)));
    PodInfo two = build::pod("two", build::whole(2));
    two.gpu_rules.topology = "nvlink";
    for (const PodInfo& pod : {one, two}) {
        state.set_pod(pod);
        state.reserve_node(pod.uid, NodeName("n"), ReservedBy::preemption);
    }
    const ScoreCache spread((*find_policy_option("spread"))->make({}));
    const auto made = state.reserve(build::request(one), NodeName("n"), &spread);
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_EQ(made->allocation.containers[0].gpus[0].index, 2);
    EXPECT_TRUE(state.reserve(build::request(two), NodeName("n"), &spread));
}

}  // namespace
}  // namespace tessera

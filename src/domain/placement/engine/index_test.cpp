// The contract of the index: it always decides as if every node were scored again.
#include "domain/placement/engine/index.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>

namespace tessera {
namespace {

constexpr int kModels = 3;
constexpr int kSteps = 300;  // per case: with few steps, no engine becomes full

NodeShape any_shape() {
    return {.cpu_milli = *rc::gen::inRange(1, 5) * 8'000,
            .memory_mib = *rc::gen::inRange(1, 4) * 1'000,
            .gpus = *rc::gen::inRange(0, 5),
            .model = *rc::gen::inRange(0, kModels)};
}

PlacementTask any_task() {
    const auto milli = *rc::gen::elementOf(std::vector<std::int16_t>{0, 190, 500, 810, 1000, 1000});
    const auto gpus = *rc::gen::elementOf(std::vector<std::int16_t>{1, 1, 1, 2, 4});
    return {.cpu_milli = *rc::gen::inRange(0, 5) * 3'000,
            .memory_mib = *rc::gen::inRange(0, 4) * 300,
            .milli = milli,
            .count = milli == 0 ? std::int16_t{0} : gpus,
            .models = *rc::gen::elementOf(
                std::vector<ModelSet>{kAnyModel, kAnyModel, model_bit(0) | model_bit(2), 0})};
}

std::vector<MixClass> any_mix() {
    std::vector<MixSample> samples(8);
    for (MixSample& sample : samples)
        sample.task = any_task();
    return target_mix(samples, 95);
}

// Scores every node.
std::optional<Decision> without_index(const PlacementEngine& engine, PlacementPolicy& policy,
                                      const PlacementTask& task) {
    std::optional<Decision> best;
    for (std::size_t node = 0; node < engine.size(); ++node) {
        if (!can_take(engine.load(node), task)) continue;
        const PolicyScore score = policy.score(engine.load(node), task, 0);
        if (!best || score.score > best->score.score) best = Decision{node, score};
    }
    return best;
}

struct Running {
    std::size_t node;
    PlacementTask task;
    GpuSet gpus;
};

// For each node, used plus free is its capacity. No task runs on a model that it excludes.
void check_accounts(const PlacementEngine& engine, const std::vector<NodeShape>& shapes,
                    const std::vector<Running>& running) {
    std::vector<NodeLoad> loads;
    loads.reserve(shapes.size());
    for (const NodeShape& shape : shapes)
        loads.push_back(empty_load(shape));
    for (const Running& one : running) {
        RC_ASSERT(std::popcount(one.gpus) == one.task.count);
        const bool may =
            one.task.count == 0 || (one.task.models & model_bit(shapes[one.node].model)) != 0;
        RC_ASSERT(may);
        loads[one.node] = load_after(loads[one.node], one.task, one.gpus);
        loads[one.node].kinds |= kind_of(one.task);
    }
    for (std::size_t node = 0; node < loads.size(); ++node) {
        RC_ASSERT(loads[node] == engine.load(node));
        RC_ASSERT(loads[node].cpu_milli >= 0);
        RC_ASSERT(loads[node].memory_mib >= 0);
        for (const std::int16_t free : loads[node].milli)
            RC_ASSERT(free >= 0);
    }
}

// A load that no node of the engine needs to have.
NodeLoad any_load(const std::vector<NodeShape>& shapes) {
    NodeLoad load = empty_load(shapes[*rc::gen::inRange<std::size_t>(0, shapes.size())]);
    for (int gpu = 0; gpu < load.gpus; ++gpu)
        load.milli.at(static_cast<std::size_t>(gpu)) = *rc::gen::inRange<std::int16_t>(0, 1'001);
    return load;
}

void check_score(EngineIndex& index, PlacementPolicy& policy, const NodeLoad& load,
                 const PlacementTask& task) {
    const std::int32_t score = index.score_of(load, task);
    if (can_take_but_memory(load, task)) {
        RC_ASSERT(score == policy.score(load, task, 0).score);
    } else {
        RC_ASSERT(score == Tournament::kNone);
    }
}

// Goal: no policy over-commits or breaks a constraint, and the cached state gives the same
// decisions as scoring every node again. Tasks come and go, and the policy learns from them. The
// second policy has seen the same arrivals, and scores nothing else.
RC_GTEST_PROP(EngineIndex, DecidesAsIfAllWereAskedAnew, ()) {
    const auto& row =
        placement_policies()[*rc::gen::inRange<std::size_t>(0, placement_policies().size())];
    std::vector<NodeShape> shapes(*rc::gen::inRange<std::size_t>(1, 40));
    for (NodeShape& shape : shapes)
        shape = any_shape();
    const auto mix = any_mix();
    std::vector<PlacementTask> tasks(6);
    for (PlacementTask& task : tasks)
        task = any_task();

    PlacementEngine engine(shapes);
    const PolicyInputs inputs{.mix = mix, .sampling_seed = *rc::gen::inRange<std::uint64_t>(0, 4)};
    const auto policy = row.make(inputs);
    const auto asked = row.make(inputs);
    EngineIndex index(engine, *policy);
    std::vector<Running> running;
    for (int step = 0; step < kSteps; ++step) {
        if (!running.empty() && *rc::gen::inRange(0, 3) == 0) {
            const auto at = *rc::gen::inRange<std::size_t>(0, running.size());
            engine.release(running[at].node, running[at].task, running[at].gpus);
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
            continue;
        }
        const PlacementTask& task = tasks[*rc::gen::inRange<std::size_t>(0, tasks.size())];
        index.arrived(task);
        asked->arrived(task, engine);
        const auto decision = index.choose(task, *rc::gen::arbitrary<std::uint64_t>());
        const auto expected = without_index(engine, *asked, task);
        RC_ASSERT(decision.has_value() == expected.has_value());
        check_score(index, *asked, any_load(shapes), task);
        if (!decision) continue;
        RC_ASSERT(can_take(engine.load(decision->node), task));
        RC_ASSERT(decision->score.score == expected->score.score);
        if (policy->tie() == Tie::first_in_order) {
            RC_ASSERT(decision->node == expected->node);
            RC_ASSERT(decision->score.gpus == expected->score.gpus);
        }
        engine.place(decision->node, task, decision->score.gpus);
        running.push_back({decision->node, task, decision->score.gpus});
        check_accounts(engine, shapes, running);
    }
}

// Prefers one model, which may change, like a policy with learnt prices.
class Priced final : public PlacementPolicy {
  public:
    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<Priced>(*this);
    }
    int favourite = 0;
    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t) override {
        return {load.model == favourite ? 1 : 0, tightest_gpus(load, task)};
    }
};

// Goal: the cache is bounded, and clearing it changes no decision: more states of a node than the
// index numbers, then more kinds of tasks than it keeps.
TEST(EngineIndex, ForgetsAndGoesOn) {
    constexpr int kPlaced = 40'000;
    const std::vector<NodeShape> shapes = {{kPlaced, 0, 0, 0}, {3'000, 0, 0, 0}};
    PlacementEngine engine(shapes);
    const auto policy = (*find_placement_policy("packing"))->make({});
    EngineIndex index(engine, *policy);
    for (int i = 0; i < kPlaced; ++i) {
        const auto decision = index.choose({.cpu_milli = 1}, 0);
        ASSERT_EQ(decision->node, 0U) << i;
        engine.place(decision->node, {.cpu_milli = 1}, 0);
    }
    for (int cpu_milli = 1; cpu_milli <= 3'000; ++cpu_milli)
        ASSERT_EQ(index.choose({.cpu_milli = cpu_milli}, 0)->node, 1U) << cpu_milli;
    EXPECT_FALSE(index.choose({.cpu_milli = 3'001}, 0));
}

// Goal: what a policy has learnt counts after rescore().
TEST(EngineIndex, RescoresNodesThatDidNotChange) {
    const std::vector<NodeShape> shapes = {{8'000, 100, 1, 0}, {8'000, 100, 1, 1}};
    const PlacementEngine engine(shapes);
    Priced policy;
    EngineIndex index(engine, policy);
    const PlacementTask task{.cpu_milli = 1'000, .milli = 500, .count = 1};
    EXPECT_EQ(index.choose(task, 0)->node, 0U);
    policy.favourite = 1;
    index.rescore();
    EXPECT_EQ(index.choose(task, 0)->node, 1U);
}

// Goal: a policy that takes any of the best takes each of them, and no other node.
TEST(EngineIndex, AnyOfTheBestMeansEachOfThem) {
    const std::vector<NodeShape> shapes = {{1'000, 0, 0, 0}, {500, 0, 0, 0}, {1'000, 0, 0, 0}};
    const PlacementEngine engine(shapes);
    const auto policy = (*find_placement_policy("random"))->make({});
    EngineIndex index(engine, *policy);
    std::array<int, 3> chosen{};
    for (std::uint64_t random = 0; random < 100; ++random)
        ++chosen.at(index.choose({.cpu_milli = 800}, random)->node);
    EXPECT_EQ(chosen, (std::array{50, 0, 50}));
}

// Goal: an engine without nodes takes no task.
TEST(EngineIndex, OfNoNodes) {
    EXPECT_EQ(Tournament(0).best(), Tournament::kNone);
    EXPECT_TRUE(Tournament(0).leaves().empty());
    const PlacementEngine engine(std::vector<NodeShape>{});
    for (const PlacementPolicyRow& row : placement_policies()) {
        const auto policy = row.make({});
        EngineIndex index(engine, *policy);
        EXPECT_EQ(index.choose({.milli = 500, .count = 1}, 0), std::nullopt) << row.name;
    }
}

// Goal: the best of many and the first that has it, after any changes.
RC_GTEST_PROP(Tournament, KnowsTheFirstOfTheBest, ()) {
    std::vector<std::int32_t> scores(*rc::gen::inRange<std::size_t>(1, 700), Tournament::kNone);
    Tournament tournament(scores.size());
    for (int step = 0; step < 200; ++step) {
        const auto at = *rc::gen::inRange<std::size_t>(0, scores.size());
        const int score = *rc::gen::inRange(-3, 4);
        scores[at] = score == -3 ? Tournament::kNone : score;
        tournament.set(at, scores[at]);
        const auto best = std::ranges::max_element(scores);
        RC_ASSERT(tournament.best() == *best);
        if (*best == Tournament::kNone) continue;
        RC_ASSERT(tournament.first_best() == static_cast<std::size_t>(best - scores.begin()));
    }
}

// Goal: the log lists the changes, or reports that there were too many.
TEST(PlacementEngine, LogsChanges) {
    const std::vector<NodeShape> shapes(3, NodeShape{8'000, 100, 1, 0});
    PlacementEngine engine(shapes);
    const PlacementTask task{.milli = 500, .count = 1};
    engine.place(2, task, 1);
    engine.place(1, task, 1);
    const auto changes = engine.changes_since(0);
    ASSERT_TRUE(changes);
    EXPECT_EQ(std::vector(changes->begin(), changes->end()), (std::vector<std::uint32_t>{2, 1}));
    for (int i = 0; i < 20; ++i) {
        engine.release(1, task, 1);
        engine.place(1, task, 1);
    }
    EXPECT_FALSE(engine.changes_since(0));
    EXPECT_EQ(engine.changes_since(engine.version() - 3)->size(), 3U);
    EXPECT_TRUE(engine.changes_since(engine.version())->empty());
}

}  // namespace
}  // namespace tessera

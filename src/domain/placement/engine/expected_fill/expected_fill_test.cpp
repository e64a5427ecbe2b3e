#include "domain/placement/engine/expected_fill/expected_fill.hpp"

#include <gtest/gtest.h>

#include "domain/placement/engine/index.hpp"
#include "domain/placement/engine/placement_engine.hpp"

namespace tessera {
namespace {

PlacementTask task(int cpu_milli, int milli, int count = 1, ModelSet models = kAnyModel) {
    return {.cpu_milli = cpu_milli,
            .milli = static_cast<std::int16_t>(milli),
            .count = static_cast<std::int16_t>(count),
            .models = models};
}

// Goal: each term of the score alone, by hand. All tasks request half a GPU and no CPU.
TEST(ExpectedFill, ScoresByItsFormula) {
    const std::vector<MixClass> mix = {{0, 500, 1, model_bit(0), 1.0}};
    const std::vector<NodeShape> shapes = {{8'000, 100, 2, 0}};
    const PlacementEngine engine(shapes);
    NodeLoad load = engine.load(0);
    load.milli = {900, 1000};
    const auto score = [&](const ExpectedFillWeights& weights, const PlacementTask& asked) {
        const auto policy = expected_fill_policy({.mix = mix}, weights, false);
        policy->arrived(asked, engine);
        return policy->score(load, asked, 0);
    };
    // W falls from 1500 to 1000 on the first GPU, to 1500 if 400 of it are used.
    EXPECT_EQ(score({1, 0, 0, 0}, task(0, 500)).score, -7);
    EXPECT_EQ(score({1, 0, 0, 0}, task(0, 500)).gpus, 0b01);
    EXPECT_EQ(score({1, 0, 0, 0}, task(0, 400)).score, 0);
    EXPECT_EQ(score({1, 0, 0, 0}, task(0, 400)).gpus, 0b01);
    // All of model 0 is reserved: the price is half of 400 and half of 1000.
    EXPECT_EQ(score({0, 0, 0, 0.5}, task(0, 400)).score, -3);
    EXPECT_EQ(score({0, 0, 0, 0.5}, task(0, 1000)).score, -7);
    EXPECT_EQ(score({0, 0, 0, 0.5}, task(4'000, 0, 0)).score, 0);
    const auto both = expected_fill_policy({.mix = mix}, {0, 0, 0, 0.5}, false);
    both->arrived(task(0, 500), engine);
    EXPECT_EQ(both->score(engine.load(0), task(0, 1000, 2), 0).score, -13) << "of two GPUs twice";
}

// Goal: a policy that learns behaves like one with a known mix: a model that some tasks require is
// left to them.
TEST(ExpectedFill, LearnsWhatIsScarce) {
    const std::vector<NodeShape> shapes = {{64'000, 0, 4, 0}, {64'000, 0, 4, 1}};
    PlacementEngine engine(shapes);
    const auto policy = expected_fill_policy({}, {}, true);
    EngineIndex index(engine, *policy);
    const PlacementTask any = task(1'000, 500);
    const PlacementTask typed = task(1'000, 1000, 1, model_bit(0));
    EXPECT_EQ(index.choose(any, 0)->node, 0U);
    for (int i = 0; i < 40; ++i) {
        index.arrived(typed);
        index.arrived(any);
    }
    EXPECT_EQ(index.choose(any, 0)->node, 1U);
    EXPECT_EQ(index.choose(typed, 0)->node, 0U);
}

// Goal: it detects that tasks leave. Then the emptiest node is drained for tasks that need a whole
// node; before, the first node in order took the task.
TEST(ExpectedFill, LeavesTheEmptiestNodeAloneWhereTasksLeave) {
    const std::vector<MixClass> mix = {{0, 1000, 1, kAnyModel, 0.9}, {0, 1000, 8, kAnyModel, 0.1}};
    PlacementEngine engine(std::vector<NodeShape>(2, {64'000, 0, 8, 0}));
    engine.place(0, task(0, 1000), 0b1);
    for (GpuSet gpu = 1; gpu <= 0b100000; gpu = static_cast<GpuSet>(2 * gpu))
        engine.place(1, task(0, 1000), gpu);
    const auto policy = expected_fill_policy({.mix = mix}, {}, false);
    EngineIndex index(engine, *policy);
    const PlacementTask one = task(0, 1000);
    index.arrived(one);
    EXPECT_EQ(index.choose(one, 0)->node, 0U);
    for (int i = 0; i < 1'000; ++i) {
        engine.place(1, one, 0b10000000);
        engine.release(1, one, 0b10000000);
        index.arrived(one);
    }
    EXPECT_EQ(index.choose(one, 0)->node, 1U);
}

// Goal: a policy that receives the running tasks after a restart scores as one that saw them arrive
// at the same cluster.
TEST(ExpectedFill, IsRebuiltFromTheRunningTasks) {
    const std::vector<NodeShape> shapes(5, NodeShape{32'000, 0, 4, 0});
    const PlacementEngine engine(shapes);
    const auto first = expected_fill_policy({.sampling_seed = 4}, {}, true);
    const auto second = expected_fill_policy({.sampling_seed = 4}, {}, true);
    for (const auto& policy : {first.get(), second.get()}) {
        for (int i = 0; i < 300; ++i)
            policy->arrived(task(1'000 * (i % 7), 100 * (1 + i % 5)), engine);
    }
    NodeLoad load = engine.load(0);
    for (std::int16_t free = 1000; free >= 200; free = static_cast<std::int16_t>(free - 100)) {
        load.milli[0] = free;
        const PolicyScore a = first->score(load, task(2'000, 200), 0);
        const PolicyScore b = second->score(load, task(2'000, 200), 0);
        EXPECT_EQ(a.score, b.score);
        EXPECT_EQ(a.gpus, b.gpus);
    }
}

}  // namespace
}  // namespace tessera

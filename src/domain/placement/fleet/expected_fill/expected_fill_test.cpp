#include "domain/placement/fleet/expected_fill/expected_fill.hpp"

#include <gtest/gtest.h>

#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/index.hpp"

namespace tessera {
namespace {

Task task(int cpu_milli, int milli, int count = 1, ModelSet models = kAnyModel) {
    return {.cpu_milli = cpu_milli,
            .milli = static_cast<std::int16_t>(milli),
            .count = static_cast<std::int16_t>(count),
            .models = models};
}

// Goal: the terms of the score, each alone, by hand. All tasks ask for half a card and no CPU.
TEST(ExpectedFill, ScoresByItsFormula) {
    const std::vector<MixClass> mix = {{0, 500, 1, model_bit(0), 1.0}};
    const std::vector<NodeShape> shapes = {{8'000, 100, 2, 0}};
    const Fleet fleet(shapes);
    NodeLoad load = fleet.load(0);
    load.milli = {900, 1000};
    const auto rate = [&](const ExpectedFillWeights& weights, const Task& asked) {
        const auto policy = expected_fill_policy({.mix = mix}, weights, false);
        policy->arrived(asked, fleet);
        return policy->rate(load, asked, 0);
    };
    // W falls from 1500 to 1000 on the first card, to 1500 where 400 of it are used.
    EXPECT_EQ(rate({1, 0, 0, 0}, task(0, 500)).score, -7);
    EXPECT_EQ(rate({1, 0, 0, 0}, task(0, 500)).cards, 0b01);
    EXPECT_EQ(rate({1, 0, 0, 0}, task(0, 400)).score, 0);
    EXPECT_EQ(rate({1, 0, 0, 0}, task(0, 400)).cards, 0b01);
    // All of model 0 is spoken for: half of 400 and half of 1000 is the price.
    EXPECT_EQ(rate({0, 0, 0, 0.5}, task(0, 400)).score, -3);
    EXPECT_EQ(rate({0, 0, 0, 0.5}, task(0, 1000)).score, -7);
    EXPECT_EQ(rate({0, 0, 0, 0.5}, task(4'000, 0, 0)).score, 0);
    const auto both = expected_fill_policy({.mix = mix}, {0, 0, 0, 0.5}, false);
    both->arrived(task(0, 500), fleet);
    EXPECT_EQ(both->rate(fleet.load(0), task(0, 1000, 2), 0).score, -13) << "of two cards twice";
}

// Goal: learnt from nothing it is told: the model that typed tasks insist on is left to them.
TEST(ExpectedFill, LearnsWhatIsScarce) {
    const std::vector<NodeShape> shapes = {{64'000, 0, 4, 0}, {64'000, 0, 4, 1}};
    Fleet fleet(shapes);
    const auto policy = expected_fill_policy({}, {}, true);
    FleetIndex index(fleet, *policy);
    const Task any = task(1'000, 500);
    const Task typed = task(1'000, 1000, 1, model_bit(0));
    EXPECT_EQ(index.choose(any, 0)->node, 0U);
    for (int i = 0; i < 40; ++i) {
        index.arrived(typed);
        index.arrived(any);
    }
    EXPECT_EQ(index.choose(any, 0)->node, 1U);
    EXPECT_EQ(index.choose(typed, 0)->node, 0U);
}

// Goal: it finds out by itself that tasks leave: from then on the emptiest node runs dry for the
// tasks that want all of one, where before the first node in order took the task.
TEST(ExpectedFill, LeavesTheEmptiestNodeAloneWhereTasksLeave) {
    const std::vector<MixClass> mix = {{0, 1000, 1, kAnyModel, 0.9}, {0, 1000, 8, kAnyModel, 0.1}};
    Fleet fleet(std::vector<NodeShape>(2, {64'000, 0, 8, 0}));
    fleet.place(0, task(0, 1000), 0b1);
    for (CardSet card = 1; card <= 0b100000; card = static_cast<CardSet>(2 * card))
        fleet.place(1, task(0, 1000), card);
    const auto policy = expected_fill_policy({.mix = mix}, {}, false);
    FleetIndex index(fleet, *policy);
    const Task one = task(0, 1000);
    index.arrived(one);
    EXPECT_EQ(index.choose(one, 0)->node, 0U);
    for (int i = 0; i < 1'000; ++i) {
        fleet.place(1, one, 0b10000000);
        fleet.release(1, one, 0b10000000);
        index.arrived(one);
    }
    EXPECT_EQ(index.choose(one, 0)->node, 1U);
}

// Goal: a policy that is fed the tasks that run, after a restart, scores as the one that saw them
// come to the same cluster.
TEST(ExpectedFill, IsRebuiltFromTheRunningTasks) {
    const std::vector<NodeShape> shapes(5, NodeShape{32'000, 0, 4, 0});
    const Fleet fleet(shapes);
    const auto first = expected_fill_policy({.sampling_seed = 4}, {}, true);
    const auto second = expected_fill_policy({.sampling_seed = 4}, {}, true);
    for (const auto& policy : {first.get(), second.get()}) {
        for (int i = 0; i < 300; ++i)
            policy->arrived(task(1'000 * (i % 7), 100 * (1 + i % 5)), fleet);
    }
    NodeLoad load = fleet.load(0);
    for (std::int16_t free = 1000; free >= 200; free = static_cast<std::int16_t>(free - 100)) {
        load.milli[0] = free;
        const Rating a = first->rate(load, task(2'000, 200), 0);
        const Rating b = second->rate(load, task(2'000, 200), 0);
        EXPECT_EQ(a.score, b.score);
        EXPECT_EQ(a.cards, b.cards);
    }
}

}  // namespace
}  // namespace tessera

// All-or-none placement, with random gangs on random clusters.
#include "simulator/replay/trial.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <random>

#include "domain/placement/engine/policy.hpp"

namespace tessera {
namespace {

NodeShape any_shape() {
    return {.cpu_milli = *rc::gen::inRange(1, 5) * 8'000,
            .memory_mib = 4'000,
            .gpus = *rc::gen::inRange(0, 5),
            .model = *rc::gen::inRange(0, 3)};
}

PlacementTask any_task() {
    return {.cpu_milli = *rc::gen::inRange(0, 5) * 3'000,
            .memory_mib = 100,
            .milli = *rc::gen::elementOf(std::vector<std::int16_t>{190, 500, 810, 1000}),
            .count = *rc::gen::elementOf(std::vector<std::int16_t>{1, 1, 2})};
}

std::vector<NodeLoad> loads_of(const PlacementEngine& engine) {
    std::vector<NodeLoad> loads;
    for (std::size_t node = 0; node < engine.size(); ++node)
        loads.push_back(engine.load(node));
    return loads;
}

struct Kept {
    PlacementTask task;
    Placed placed;
};

// Goal: no gang is placed in part: it has as many places as tasks, or the engine is unchanged,
// including its counts of changes. An index that observed the attempt and the undo decides as a new
// index would.
RC_GTEST_PROP(Trial, AllOrNone, ()) {
    const auto& row =
        placement_policies()[*rc::gen::inRange<std::size_t>(0, placement_policies().size())];
    std::vector<NodeShape> shapes(*rc::gen::inRange<std::size_t>(1, 12));
    for (NodeShape& shape : shapes)
        shape = any_shape();
    const std::vector<MixClass> mix{{.cpu_milli = 3'000, .milli = 500, .count = 1, .share = 1}};
    PlacementEngine engine(shapes);
    const auto policy = row.make({.mix = mix});
    EngineIndex index(engine, *policy);
    NodeCaps caps;
    std::mt19937_64 draws(1);
    std::vector<Kept> running;
    for (int step = 0; step < 40; ++step) {
        if (!running.empty() && *rc::gen::inRange(0, 4) == 0) {
            const Kept one = running.back();
            running.pop_back();
            engine.release(static_cast<std::size_t>(one.placed.node), one.task, one.placed.gpus);
            continue;
        }
        std::vector<PlacementTask> gang(*rc::gen::inRange<std::size_t>(1, 9), any_task());
        if (*rc::gen::arbitrary<bool>()) gang.back() = any_task();
        for (const PlacementTask& task : gang)
            index.arrived(task);
        const auto before = loads_of(engine);
        const std::int64_t moved = engine.allocated_milli();
        const std::int64_t given_back = engine.released_milli();
        const auto placed = place_together(engine, index, caps, gang, {}, draws);
        RC_ASSERT(engine.released_milli() == given_back);
        if (!placed) {
            RC_ASSERT(loads_of(engine) == before);
            RC_ASSERT(engine.allocated_milli() == moved);
        } else {
            RC_ASSERT(placed->size() == gang.size());
            for (std::size_t i = 0; i < gang.size(); ++i) {
                RC_ASSERT(std::popcount((*placed)[i].gpus) == gang[i].count);
                running.push_back({gang[i], (*placed)[i]});
            }
        }
        const auto same = policy->copy();
        EngineIndex fresh(engine, *same);
        const PlacementTask next = any_task();
        const auto kept = index.choose(next, 7);
        const auto recomputed = fresh.choose(next, 7);
        RC_ASSERT(kept.has_value() == recomputed.has_value());
        if (!kept) continue;
        RC_ASSERT(kept->node == recomputed->node);
        RC_ASSERT(kept->score.score == recomputed->score.score);
        RC_ASSERT(kept->score.gpus == recomputed->score.gpus);
    }
}

// Goal: no node takes more of an application than its cap, whatever was tried and undone, and a
// task that ends makes room for another.
TEST(Trial, KeepsToTheCapOfAnApplication) {
    PlacementEngine engine(
        std::vector<NodeShape>(3, {.cpu_milli = 8'000, .memory_mib = 1, .gpus = 4}));
    const auto policy = (*find_placement_policy("binpack"))->make({});
    EngineIndex index(engine, *policy);
    NodeCaps caps;
    std::mt19937_64 draws(1);
    const NodeCap two{.app = 7, .most = 2};
    const auto place = [&](std::size_t count, const NodeCap& cap) {
        const std::vector<PlacementTask> gang(count, {.milli = 100, .count = 1});
        const auto placed = place_together(engine, index, caps, gang, cap, draws);
        std::vector<int> nodes;
        for (const Placed& one : placed.value_or(std::vector<Placed>()))
            nodes.push_back(one.node);
        return nodes;
    };
    using Nodes = std::vector<int>;
    EXPECT_EQ(place(7, two), Nodes()) << "six are all that three nodes take";
    EXPECT_EQ(place(5, two), (Nodes{0, 0, 1, 1, 2})) << "and nothing of the seven is left";
    EXPECT_EQ(place(2, {.app = 8, .most = 1}), (Nodes{0, 1})) << "of another application";
    EXPECT_EQ(place(3, {}), (Nodes{0, 0, 0})) << "without a cap";
    EXPECT_EQ(place(1, two), Nodes{2});
    EXPECT_EQ(place(1, two), Nodes());
    caps.remove(two, 1);
    EXPECT_EQ(place(1, two), Nodes{1});
}

}  // namespace
}  // namespace tessera

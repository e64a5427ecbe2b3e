#include "domain/placement/engine/expected_fill/scarcity.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Two nodes of model 0 with 4 GPUs, one of model 1 with 2: 10 GPUs idle.
const std::vector<NodeShape> kShapes = {
    {64'000, 1'000, 4, 0}, {16'000, 1'000, 4, 0}, {64'000, 1'000, 2, 1}};

// Goal: the header's formula, by hand. Half of the tasks request one GPU, half two: 1.5 GPUs per
// task. So 10/3 of each are to come, and there is space for 2 + 1 + 1 pairs.
TEST(Scarcity, ReservesRoomByItsFormula) {
    const std::vector<MixClass> mix = {{1'000, 1000, 1, kAnyModel, 0.5},
                                       {16'000, 1000, 2, kAnyModel, 0.5}};
    PlacementEngine engine(kShapes);
    Scarcity scarcity;
    EXPECT_EQ(scarcity.reserve(engine.load(0)), 0);
    scarcity.update(mix, engine);
    const double pair = 2'000 * (10.0 / 3) / 4;
    EXPECT_NEAR(scarcity.reserve(engine.load(0)), 2 * pair, 1e-9);
    EXPECT_NEAR(scarcity.reserve(engine.load(1)), pair, 1e-9);
    EXPECT_NEAR(scarcity.reserve(engine.load(2)), pair, 1e-9);
    engine.place(2, {.milli = 100, .count = 1}, 1);
    EXPECT_EQ(scarcity.reserve(engine.load(2)), 0);
    EXPECT_EQ(scarcity.price(0), 0);
    // No space at all: at most twice the demand counts.
    engine.place(0, {.milli = 100, .count = 3}, 0b111);
    engine.place(1, {.milli = 100, .count = 3}, 0b111);
    scarcity.update(mix, engine);
    EXPECT_NEAR(scarcity.reserve(empty_load(kShapes[2])), 2 * 2'000, 1e-9);
}

// Nodes with four GPUs each, of which the last is examined; updated once, with nothing taken.
class TenIdleNodes : public ::testing::Test {
  protected:
    const std::vector<MixClass> mix_ = {{1'000, 1000, 1, kAnyModel, 0.9},
                                        {16'000, 1000, 2, kAnyModel, 0.1}};
    const std::vector<NodeShape> shapes_ = std::vector<NodeShape>(10, {64'000, 1'000, 4, 0});
    PlacementEngine engine_{shapes_};
    Scarcity scarcity_;
    double before_ = 0;

    void SetUp() override {
        scarcity_.update(mix_, engine_);
        before_ = scarcity_.reserve(engine_.load(9));
    }
};

// Goal: if half of what is taken was released, twice as many tasks are to come before the idle GPUs
// are used up.
TEST_F(TenIdleNodes, AreKnownToComeBack) {
    for (const std::size_t node : {0, 1})
        engine_.place(node, {.milli = 1'000, .count = 4}, 0b1111);
    engine_.release(1, {.milli = 1'000, .count = 4}, 0b1111);
    scarcity_.update(mix_, engine_);
    // 36 of 40 GPUs are idle, and there is space for 18 pairs instead of 20.
    EXPECT_NEAR(scarcity_.reserve(engine_.load(9)), before_ * 2, 1e-9);
}

// Goal: what was taken and released counts half as much after each further update.
TEST_F(TenIdleNodes, AreForgottenByHalves) {
    const PlacementTask four{.milli = 1'000, .count = 4};
    engine_.place(0, four, 0b1111);
    engine_.release(0, four, 0b1111);
    scarcity_.update(mix_, engine_);
    engine_.place(1, four, 0b1111);
    scarcity_.update(mix_, engine_);
    // Two of six were released, so the idle GPUs last 1.5 times as long.
    EXPECT_NEAR(scarcity_.reserve(engine_.load(9)), before_ * 1.5, 1e-9);
}

// Goal: if everything that is taken is released, the first task on a node with four GPUs costs the
// whole space, the second half of it, then a third and a fourth. A GPU in use costs nothing more.
TEST(Scarcity, LetsNodesDrainWhereTasksLeave) {
    const std::vector<MixClass> mix = {{1'000, 1000, 1, kAnyModel, 0.9},
                                       {16'000, 1000, 4, model_bit(0), 0.1}};
    const std::vector<NodeShape> shapes = {{64'000, 1'000, 4, 0}, {64'000, 1'000, 4, 1}};
    PlacementEngine engine(shapes);
    Scarcity scarcity;
    scarcity.update(mix, engine);
    NodeLoad load = engine.load(0);
    load.milli = {1000, 1000, 1000, 400};
    EXPECT_EQ(scarcity.reserve(load), 0);
    engine.place(1, {.milli = 1'000, .count = 4}, 0b1111);
    engine.release(1, {.milli = 1'000, .count = 4}, 0b1111);
    scarcity.update(mix, engine);
    const double room = scarcity.reserve(engine.load(0));
    EXPECT_GT(room, 0);
    EXPECT_NEAR(scarcity.reserve(load), -room, 1e-9);
    load.milli = {1000, 1000, 400, 400};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1 + 1.0 / 2), 1e-9);
    load.milli = {1000, 400, 400, 400};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1 + 1.0 / 2 + 1.0 / 3), 1e-9);
    load.milli = {1000, 0, 0, 0};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1 + 1.0 / 2 + 1.0 / 3), 1e-9);
    // No task waits for a space on the other model.
    load.model = 1;
    EXPECT_EQ(scarcity.reserve(load), 0);
}

// Goal: of a node with one of two spaces, only the missing one is waited for.
TEST(Scarcity, WaitsForTheRoomsThatAreNotThere) {
    const std::vector<MixClass> mix = {{1'000, 1000, 1, kAnyModel, 0.9},
                                       {0, 1000, 2, kAnyModel, 0.1}};
    const std::vector<NodeShape> shapes = {{64'000, 1'000, 4, 0}};
    PlacementEngine engine(shapes);
    Scarcity scarcity;
    engine.place(0, {.milli = 1'000, .count = 4}, 0b1111);
    engine.release(0, {.milli = 1'000, .count = 4}, 0b1111);
    scarcity.update(mix, engine);
    const double room = scarcity.reserve(engine.load(0)) / 2;
    NodeLoad load = engine.load(0);
    load.milli = {1000, 1000, 1000, 0};
    EXPECT_NEAR(scarcity.reserve(load), room * (1 - 1), 1e-9);
    load.milli = {1000, 1000, 0, 0};
    EXPECT_NEAR(scarcity.reserve(load), room * (1 - (1 + 1.0 / 2)), 1e-9);
    // From three in use to two, and from three to none.
    load.milli = {1000, 0, 0, 0};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1.0 / 3 + (1 + 1.0 / 2 + 1.0 / 3)), 1e-9);
}

// Goal: a tenth of the requests needs model 1, which has a fifth of the GPUs: half of them are
// reserved.
TEST(Scarcity, PricesModelsThatSomeInsistOn) {
    const std::vector<MixClass> mix = {{1'000, 500, 1, model_bit(1), 0.1},
                                       {1'000, 500, 1, kAnyModel, 0.9},
                                       {1'000, 0, 0, kAnyModel, 1.0}};
    const PlacementEngine engine(kShapes);
    Scarcity scarcity;
    scarcity.update(mix, engine);
    EXPECT_NEAR(scarcity.price(1), 0.5, 1e-9);
    EXPECT_EQ(scarcity.price(0), 0);
    scarcity.update(std::vector<MixClass>{{1'000, 500, 1, model_bit(1), 1}}, engine);
    EXPECT_EQ(scarcity.price(1), 2);
}

}  // namespace
}  // namespace tessera

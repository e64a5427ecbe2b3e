#include "domain/placement/fleet/expected_fill/scarcity.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Two nodes of model 0 with 4 cards, one of model 1 with 2: 10 cards idle.
const std::vector<NodeShape> kShapes = {
    {64'000, 1'000, 4, 0}, {16'000, 1'000, 4, 0}, {64'000, 1'000, 2, 1}};

// Goal: the header's formula, by hand. Half of the tasks ask for one card, half for two: 1.5 cards
// a task, so 10/3 of each are to come, and there is room for 2 + 1 + 1 pairs.
TEST(Scarcity, ReservesRoomByItsFormula) {
    const std::vector<MixClass> mix = {{1'000, 1000, 1, kAnyModel, 0.5},
                                       {16'000, 1000, 2, kAnyModel, 0.5}};
    Fleet fleet(kShapes);
    Scarcity scarcity;
    EXPECT_EQ(scarcity.reserve(fleet.load(0)), 0);
    scarcity.update(mix, fleet);
    const double pair = 2'000 * (10.0 / 3) / 4;
    EXPECT_NEAR(scarcity.reserve(fleet.load(0)), 2 * pair, 1e-9);
    EXPECT_NEAR(scarcity.reserve(fleet.load(1)), pair, 1e-9);
    EXPECT_NEAR(scarcity.reserve(fleet.load(2)), pair, 1e-9);
    fleet.place(2, {.milli = 100, .count = 1}, 1);
    EXPECT_EQ(scarcity.reserve(fleet.load(2)), 0);
    EXPECT_EQ(scarcity.price(0), 0);
    // No room at all: twice the demand is the most that counts.
    fleet.place(0, {.milli = 100, .count = 3}, 0b111);
    fleet.place(1, {.milli = 100, .count = 3}, 0b111);
    scarcity.update(mix, fleet);
    EXPECT_NEAR(scarcity.reserve(empty_load(kShapes[2])), 2 * 2'000, 1e-9);
}

// Of four cards each, of which the last is asked after; looked at once, with nothing taken.
class TenIdleNodes : public ::testing::Test {
  protected:
    const std::vector<MixClass> mix_ = {{1'000, 1000, 1, kAnyModel, 0.9},
                                        {16'000, 1000, 2, kAnyModel, 0.1}};
    const std::vector<NodeShape> shapes_ = std::vector<NodeShape>(10, {64'000, 1'000, 4, 0});
    Fleet fleet_{shapes_};
    Scarcity scarcity_;
    double before_ = 0;

    void SetUp() override {
        scarcity_.update(mix_, fleet_);
        before_ = scarcity_.reserve(fleet_.load(9));
    }
};

// Goal: where half of what is taken was given back, twice as many tasks are to come before the
// idle cards are used up.
TEST_F(TenIdleNodes, AreKnownToComeBack) {
    for (const std::size_t node : {0, 1})
        fleet_.place(node, {.milli = 1'000, .count = 4}, 0b1111);
    fleet_.release(1, {.milli = 1'000, .count = 4}, 0b1111);
    scarcity_.update(mix_, fleet_);
    // 36 of 40 cards are idle, and there is room for 18 pairs in place of 20.
    EXPECT_NEAR(scarcity_.reserve(fleet_.load(9)), before_ * 2, 1e-9);
}

// Goal: what was taken and given back counts half as much with each look that follows.
TEST_F(TenIdleNodes, AreForgottenByHalves) {
    const Task four{.milli = 1'000, .count = 4};
    fleet_.place(0, four, 0b1111);
    fleet_.release(0, four, 0b1111);
    scarcity_.update(mix_, fleet_);
    fleet_.place(1, four, 0b1111);
    scarcity_.update(mix_, fleet_);
    // Two of six were given back, so that what is idle lasts 1.5 times as long.
    EXPECT_NEAR(scarcity_.reserve(fleet_.load(9)), before_ * 1.5, 1e-9);
}

// Goal: where all that is taken is given back, the first task on a node for four cards costs the
// whole room, the second half of it, then a third and a fourth; a card that is in use costs nothing
// more.
TEST(Scarcity, LetsNodesDrainWhereTasksLeave) {
    const std::vector<MixClass> mix = {{1'000, 1000, 1, kAnyModel, 0.9},
                                       {16'000, 1000, 4, model_bit(0), 0.1}};
    const std::vector<NodeShape> shapes = {{64'000, 1'000, 4, 0}, {64'000, 1'000, 4, 1}};
    Fleet fleet(shapes);
    Scarcity scarcity;
    scarcity.update(mix, fleet);
    NodeLoad load = fleet.load(0);
    load.milli = {1000, 1000, 1000, 400};
    EXPECT_EQ(scarcity.reserve(load), 0);
    fleet.place(1, {.milli = 1'000, .count = 4}, 0b1111);
    fleet.release(1, {.milli = 1'000, .count = 4}, 0b1111);
    scarcity.update(mix, fleet);
    const double room = scarcity.reserve(fleet.load(0));
    EXPECT_GT(room, 0);
    EXPECT_NEAR(scarcity.reserve(load), -room, 1e-9);
    load.milli = {1000, 1000, 400, 400};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1 + 1.0 / 2), 1e-9);
    load.milli = {1000, 400, 400, 400};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1 + 1.0 / 2 + 1.0 / 3), 1e-9);
    load.milli = {1000, 0, 0, 0};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1 + 1.0 / 2 + 1.0 / 3), 1e-9);
    // Nobody waits for a room of the other model.
    load.model = 1;
    EXPECT_EQ(scarcity.reserve(load), 0);
}

// Goal: of a node that has one room of two, what is waited for is the other alone.
TEST(Scarcity, WaitsForTheRoomsThatAreNotThere) {
    const std::vector<MixClass> mix = {{1'000, 1000, 1, kAnyModel, 0.9},
                                       {0, 1000, 2, kAnyModel, 0.1}};
    const std::vector<NodeShape> shapes = {{64'000, 1'000, 4, 0}};
    Fleet fleet(shapes);
    Scarcity scarcity;
    fleet.place(0, {.milli = 1'000, .count = 4}, 0b1111);
    fleet.release(0, {.milli = 1'000, .count = 4}, 0b1111);
    scarcity.update(mix, fleet);
    const double room = scarcity.reserve(fleet.load(0)) / 2;
    NodeLoad load = fleet.load(0);
    load.milli = {1000, 1000, 1000, 0};
    EXPECT_NEAR(scarcity.reserve(load), room * (1 - 1), 1e-9);
    load.milli = {1000, 1000, 0, 0};
    EXPECT_NEAR(scarcity.reserve(load), room * (1 - (1 + 1.0 / 2)), 1e-9);
    // From three in use to two, and from three to none.
    load.milli = {1000, 0, 0, 0};
    EXPECT_NEAR(scarcity.reserve(load), -room * (1.0 / 3 + (1 + 1.0 / 2 + 1.0 / 3)), 1e-9);
}

// Goal: a tenth of what is asked for insists on model 1, of which a fifth of the cards are: half of
// them are spoken for.
TEST(Scarcity, PricesModelsThatSomeInsistOn) {
    const std::vector<MixClass> mix = {{1'000, 500, 1, model_bit(1), 0.1},
                                       {1'000, 500, 1, kAnyModel, 0.9},
                                       {1'000, 0, 0, kAnyModel, 1.0}};
    const Fleet fleet(kShapes);
    Scarcity scarcity;
    scarcity.update(mix, fleet);
    EXPECT_NEAR(scarcity.price(1), 0.5, 1e-9);
    EXPECT_EQ(scarcity.price(0), 0);
    scarcity.update(std::vector<MixClass>{{1'000, 500, 1, model_bit(1), 1}}, fleet);
    EXPECT_EQ(scarcity.price(1), 2);
}

}  // namespace
}  // namespace tessera

#include "domain/placement/engine/expected_fill/piece_value.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: if every GPU can be cut into requested pieces, a piece that is too small for any task is
// worth nothing. A larger piece is worth no less than a smaller one, and none is worth more than
// its size.
TEST(PieceValue, LiesBetweenNothingAndAllOfIt) {
    PieceValue value;
    EXPECT_EQ(value.of_piece(1000), 0);
    value.learn(
        std::vector<MixClass>{{1'000, 600, 1, kAnyModel, 0.4}, {1'000, 400, 1, kAnyModel, 0.6}});
    EXPECT_EQ(value.of_piece(390), 0);
    EXPECT_GE(value.of_piece(600), value.of_piece(400));
    EXPECT_LE(value.of_piece(1000), 1000);
}

// Goal: if all tasks request 0.81, the other 0.19 of a GPU is worth nothing. A mix without GPU
// requests changes no price.
TEST(PieceValue, OfAHoleThatNoneUsesIsNothing) {
    PieceValue value;
    value.learn(std::vector<MixClass>{{1'000, 810, 1, kAnyModel, 1.0}});
    EXPECT_EQ(value.of_piece(190), 0);
    EXPECT_EQ(value.of_piece(800), 0);
    EXPECT_EQ(value.of_piece(810), value.of_piece(1000));
    EXPECT_GT(value.of_piece(1000), 780);
    NodeLoad load = empty_load({.cpu_milli = 1, .gpus = 3});
    load.milli[1] = 190;
    EXPECT_EQ(value.of(load), 2 * value.of_piece(1000));
    const auto before = value.of_piece(1000);
    value.learn({});
    EXPECT_EQ(value.of_piece(1000), before);
}

// Goal: a larger piece is never worth less.
TEST(PieceValue, GrowsWithTheRoom) {
    PieceValue value;
    value.learn(std::vector<MixClass>{{1'000, 320, 1, kAnyModel, 0.3},
                                      {1'000, 455, 1, kAnyModel, 0.2},
                                      {1'000, 1000, 2, kAnyModel, 0.5}});
    for (std::int16_t free = 10; free <= 1000; free = static_cast<std::int16_t>(free + 10))
        EXPECT_GE(value.of_piece(free), value.of_piece(static_cast<std::int16_t>(free - 10)));
}

}  // namespace
}  // namespace tessera

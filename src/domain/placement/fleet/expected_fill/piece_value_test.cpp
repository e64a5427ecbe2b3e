#include "domain/placement/fleet/expected_fill/piece_value.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: the prices that can be worked out by hand. Half of what is asked for comes in pieces of
// 0.6, half in pieces of 0.4: a card is one of each, any price of 0.6 that 0.4 leaves is one, and a
// whole card is worth what it holds less the prices.
TEST(PieceValue, IsThatOfThePiecesItHolds) {
    PieceValue value;
    EXPECT_EQ(value.of_piece(1000), 0);
    value.learn(
        std::vector<MixClass>{{1'000, 600, 1, kAnyModel, 0.4}, {1'000, 400, 1, kAnyModel, 0.6}});
    EXPECT_EQ(value.of_piece(390), 0);
    EXPECT_GE(value.of_piece(600), value.of_piece(400));
    EXPECT_LE(value.of_piece(1000), 1000);
}

// Goal: where all ask for 0.81, 0.19 is worth nothing, and the first card of too many nothing more
// than what is taken of it.
TEST(PieceValue, OfAHoleThatNoneUsesIsNothing) {
    PieceValue value;
    value.learn(std::vector<MixClass>{{1'000, 810, 1, kAnyModel, 1.0}});
    EXPECT_EQ(value.of_piece(190), 0);
    EXPECT_EQ(value.of_piece(800), 0);
    EXPECT_EQ(value.of_piece(810), value.of_piece(1000));
    EXPECT_GT(value.of_piece(1000), 780);
    NodeLoad load = empty_load({.cpu_milli = 1, .cards = 3});
    load.milli[1] = 190;
    EXPECT_EQ(value.of(load), 2 * value.of_piece(1000));
    const auto before = value.of_piece(1000);
    value.learn({});
    EXPECT_EQ(value.of_piece(1000), before);
}

// Goal: more room is never worth less.
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

#include "base/edit_distance.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(EditDistance, CountsLetters) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("gpumemory", "gpumemory"), 0U);
    EXPECT_EQ(edit_distance("gpumemry", "gpumemory"), 1U);
    EXPECT_EQ(edit_distance("gpumemoryy", "gpumemory"), 1U);
    EXPECT_EQ(edit_distance("gpucores", "gpumemory"), 5U);
    EXPECT_EQ(edit_distance("", "abc"), 3U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
}

}  // namespace
}  // namespace tessera

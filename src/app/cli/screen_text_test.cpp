#include "app/cli/screen_text.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ScreenText, FitsTheScreen) {
    EXPECT_EQ(screen_text("ab\ncd\n", 0, 0), "\x1b[Hab\x1b[K\ncd\x1b[K\n\x1b[J");
    EXPECT_EQ(screen_text("abc\ncd\n", 2, 3), "\x1b[Hab\x1b[K\ncd\x1b[K\n\x1b[J");
    EXPECT_EQ(screen_text("a\nb\nc\nd\n", 80, 4),
              "\x1b[Ha\x1b[K\nb\x1b[K\n... 2 more lines\x1b[K\n\x1b[J");
    EXPECT_EQ(screen_text("a\nb\n", 5, 1), "\x1b[H... 2\x1b[K\n\x1b[J") << "cut off, too";
    EXPECT_EQ(screen_text("", 80, 24), "\x1b[H\x1b[J");
    EXPECT_EQ(screen_text("no end", 80, 24), "\x1b[Hno end\x1b[K\n\x1b[J");
}

TEST(ScreenText, CutsNoCharacterInTwo) {
    EXPECT_EQ(screen_text("\xC3\xBC\xC3\xBC\xC3\xBC\n", 2, 0),
              "\x1b[H\xC3\xBC\xC3\xBC\x1b[K\n\x1b[J");
}

}  // namespace
}  // namespace tessera

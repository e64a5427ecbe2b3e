// Goal: functions that a program launches in turn are known. This includes handles with the same
// place, and thousands of handles. Forgotten functions are not known.
#include "guard/base/seen.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::guard {
namespace {

class GuardSeen : public testing::Test {
  protected:
    void SetUp() override { forget_all_seen(); }
    void TearDown() override { forget_all_seen(); }
};

TEST_F(GuardSeen, KeysOfOnePlace) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = 16; keys.size() < kSeenTries; key += 16)
        if (seen_place(key) == kSeenKeys - 2) keys.push_back(key);
    for (const std::uint64_t key : keys) {
        EXPECT_FALSE(is_seen(key));
        note_seen(key);
        note_seen(key);
    }
    for (const std::uint64_t key : keys)
        EXPECT_TRUE(is_seen(key)) << key;
}

TEST_F(GuardSeen, Thousands) {
    // Handles are heap addresses.
    const auto handle = [](std::uint64_t i) { return 0x5580'0000'0000 + i * 0x1d0; };
    for (std::uint64_t i = 0; i < 3000; i++)
        note_seen(handle(i));
    unsigned known = 0;
    for (std::uint64_t i = 0; i < 3000; i++)
        known += is_seen(handle(i)) ? 1 : 0;
    EXPECT_EQ(known, 3000U);
}

TEST_F(GuardSeen, MoreThanThereIsPlaceFor) {
    for (std::uint64_t key = 16; key <= std::uint64_t{16} * kSeenKeys * 2; key += 16) {
        note_seen(key);
        EXPECT_TRUE(is_seen(key)) << "the newest is known";
    }
    forget_all_seen();
    EXPECT_FALSE(is_seen(16));
}

}  // namespace
}  // namespace tessera::guard

// Goal: keys that a program uses in turn are known. This includes keys with the same place, and
// thousands of keys. Forgotten keys are not known.
#include "guard/base/used_keys.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tessera::guard {
namespace {

class GuardUsedKeys : public testing::Test {
  protected:
    void SetUp() override { forget_all_used(); }
    void TearDown() override { forget_all_used(); }
};

TEST_F(GuardUsedKeys, KeysOfOnePlace) {
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = 16; keys.size() < kUsedKeyTries; key += 16)
        if (used_key_place(key) == kUsedKeyPlaces - 2) keys.push_back(key);
    for (const std::uint64_t key : keys) {
        EXPECT_FALSE(is_used(key));
        note_used(key);
        note_used(key);
    }
    for (const std::uint64_t key : keys)
        EXPECT_TRUE(is_used(key)) << key;
}

TEST_F(GuardUsedKeys, Thousands) {
    // Handles are heap addresses.
    const auto handle = [](std::uint64_t i) { return 0x5580'0000'0000 + i * 0x1d0; };
    for (std::uint64_t i = 0; i < 3000; i++)
        note_used(handle(i));
    unsigned known = 0;
    for (std::uint64_t i = 0; i < 3000; i++)
        known += is_used(handle(i)) ? 1 : 0;
    EXPECT_EQ(known, 3000U);
}

TEST_F(GuardUsedKeys, MoreThanThereIsPlaceFor) {
    for (std::uint64_t key = 16; key <= std::uint64_t{16} * kUsedKeyPlaces * 2; key += 16) {
        note_used(key);
        EXPECT_TRUE(is_used(key)) << "the newest is known";
    }
    forget_all_used();
    EXPECT_FALSE(is_used(16));
}

}  // namespace
}  // namespace tessera::guard

// Goal: every allocation is found again under its address, among any number of them; small ones
// share granules. Method: the table beside std::map, with random adds and takes.
#include "guard/process/holdings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tessera::guard {
namespace {

constexpr int kCard = 2;

CUcontext context(int number) {
    return reinterpret_cast<CUcontext>(  // NOLINT(performance-no-int-to-ptr)
        static_cast<std::uintptr_t>(number));
}

TEST(Holdings, SmallOnesShareGranules) {
    constexpr std::uint64_t kHalf = kGranuleBytes / 2;
    Holdings holdings{};
    EXPECT_EQ(holdings.cost_of(kCard, 1), 1U);
    holdings.count(kCard, 1);
    EXPECT_EQ(holdings.cost_of(kCard, 1), 0U);
    EXPECT_EQ(holdings.cost_of(kCard + 1, 1), 1U) << "of each card its own";
    holdings.count(kCard, kHalf - 512);
    EXPECT_EQ(holdings.cost_of(kCard, kHalf - 1), 0U);
    holdings.count(kCard, 1);
    EXPECT_EQ(holdings.cost_of(kCard, kHalf - 1), 1U);
    holdings.count(kCard, kHalf - 1);
    EXPECT_EQ(holdings.worth_of(kCard, 1), 1U);
    EXPECT_EQ(holdings.worth_of(kCard, kHalf - 1), 1U);
    holdings.discount(kCard, 1);
    EXPECT_EQ(holdings.worth_of(kCard, 1), 0U);
    EXPECT_EQ(holdings.worth_of(kCard, kHalf - 1), 0U) << "the other half is full but for a grain";
    holdings.discount(kCard, 1);
    EXPECT_EQ(holdings.worth_of(kCard, kHalf - 1), 0U);
}

TEST(Holdings, LargeOnesTakeWholeGranules) {
    const Holdings holdings{};
    EXPECT_EQ(holdings.cost_of(kCard, kGranuleBytes / 2), 1U);
    EXPECT_EQ(holdings.cost_of(kCard, kGranuleBytes), 1U);
    EXPECT_EQ(holdings.cost_of(kCard, kGranuleBytes + 1), 2U);
    EXPECT_EQ(holdings.worth_of(kCard, 5 * kGranuleBytes), 5U);
    EXPECT_EQ(holdings.cost_of(kCard, ~std::uint64_t{0}), kMaxGranules);
}

TEST(Holdings, NothingWasThere) {
    Holdings holdings{};
    std::uint64_t place = 0;
    EXPECT_EQ(holdings.take(4096).address, 0U);
    EXPECT_EQ(holdings.take(0).address, 0U);
    EXPECT_EQ(holdings.take_next_of(context(1), place).address, 0U);
}

TEST(Holdings, AsAMap) {
    Holdings holdings{};
    std::map<std::uint64_t, Holding> model;
    std::mt19937_64 random(20261122);
    for (int step = 0; step < 200000; step++) {
        const std::uint64_t address = (random() % 20000 + 1) * 512;
        if (random() % 5 < 3) {
            const Holding holding =
                holding_at(address, context(static_cast<int>(random() % 3)), random(), 0);
            ASSERT_TRUE(holdings.add(holding));
            model[address] = holding;
        } else {
            const auto found = model.find(address);
            const Holding taken = holdings.take(address);
            ASSERT_EQ(taken.address, found == model.end() ? 0 : address);
            if (found == model.end()) continue;
            ASSERT_EQ(taken.bytes, found->second.bytes);
            model.erase(found);
        }
    }
    EXPECT_GT(model.size(), 5000U);
    std::uint64_t place = 0;
    for (;;) {
        const Holding taken = holdings.take_next_of(context(1), place);
        if (taken.address == 0) break;
        ASSERT_EQ(model.at(taken.address).context, context(1));
        ASSERT_EQ(model.at(taken.address).bytes, taken.bytes);
        model.erase(taken.address);
    }
    for (const auto& [address, holding] : model) {
        EXPECT_NE(holding.context, context(1));
        EXPECT_EQ(holdings.take(address).bytes, holding.bytes);
    }
}

}  // namespace
}  // namespace tessera::guard

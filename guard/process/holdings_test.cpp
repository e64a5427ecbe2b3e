// Goal: every allocation is found under its address, among any number of them, and small ones share
// allocation units. Method: the table and a std::map get the same random adds and takes.
#include "guard/process/holdings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tessera::guard {
namespace {

constexpr int kGpu = 2;

CUcontext context(int number) {
    return reinterpret_cast<CUcontext>(  // NOLINT(performance-no-int-to-ptr)
        static_cast<std::uintptr_t>(number));
}

TEST(Holdings, SmallOnesShareAllocationUnits) {
    constexpr std::uint64_t kHalf = kAllocationUnitBytes / 2;
    Holdings holdings{};
    EXPECT_EQ(holdings.cost_of(kGpu, 1), 1U);
    holdings.count(kGpu, 1);
    EXPECT_EQ(holdings.cost_of(kGpu, 1), 0U);
    EXPECT_EQ(holdings.cost_of(kGpu + 1, 1), 1U) << "of each GPU its own";
    holdings.count(kGpu, kHalf - 512);
    EXPECT_EQ(holdings.cost_of(kGpu, kHalf - 1), 0U);
    holdings.count(kGpu, 1);
    EXPECT_EQ(holdings.cost_of(kGpu, kHalf - 1), 1U);
    holdings.count(kGpu, kHalf - 1);
    EXPECT_EQ(holdings.worth_of(kGpu, 1), 1U);
    EXPECT_EQ(holdings.worth_of(kGpu, kHalf - 1), 1U);
    holdings.discount(kGpu, 1);
    EXPECT_EQ(holdings.worth_of(kGpu, 1), 0U);
    EXPECT_EQ(holdings.worth_of(kGpu, kHalf - 1), 0U)
        << "the other half is full except for one grain";
    holdings.discount(kGpu, 1);
    EXPECT_EQ(holdings.worth_of(kGpu, kHalf - 1), 0U);
}

TEST(Holdings, LargeOnesTakeWholeAllocationUnits) {
    const Holdings holdings{};
    EXPECT_EQ(holdings.cost_of(kGpu, kAllocationUnitBytes / 2), 1U);
    EXPECT_EQ(holdings.cost_of(kGpu, kAllocationUnitBytes), 1U);
    EXPECT_EQ(holdings.cost_of(kGpu, kAllocationUnitBytes + 1), 2U);
    EXPECT_EQ(holdings.worth_of(kGpu, 5 * kAllocationUnitBytes), 5U);
    EXPECT_EQ(holdings.cost_of(kGpu, ~std::uint64_t{0}), kMaxAllocationUnits);
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
